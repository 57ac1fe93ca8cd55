import type { Command } from '../sdk/commands.ts';
import { type Api, ApiError } from '../sdk/index.ts';
import { readThings } from '../sdk/things.ts';
import { confirmLoss, type Prompt, terminalPrompt } from './confirm.ts';
import { exitCodes, Failure } from './exit.ts';
import { type Addressee, describe, isForProgram, madeBy, sayMade, sayNext } from './feedback.ts';
import { isObject } from './fields.ts';
import { type Finder, type Found, findMistyped, foundAs, listThings, unknownThing } from './names/find.ts';
import { keepLast } from './names/last.ts';
import type { Item } from './names/operations.ts';
import { type Resolved, resolveNames } from './names/resolve.ts';
import { tell } from './tell.ts';
import { Stopped, waitFor } from './wait.ts';

type Call = ((...args: unknown[]) => Promise<unknown>) & { pages(...args: unknown[]): AsyncGenerator<Item> };

/** How the command is carried out. */
export interface Manner extends Addressee {
  all?: boolean;
  yes?: boolean;
  /** Watch what it made or changed, for so long. */
  waitMs?: number;
  prompt?: Prompt;
}

export interface Performing {
  api: Api;
  command: Command;
  params: string[];
  input: Item;
  manner: Manner;
  env: NodeJS.ProcessEnv;
  url: string;
}

export interface Performed {
  answer: unknown;
  /** What is said beside the answer, once that is printed. */
  say?: () => void;
  /** The command ends with it after the answer is printed. */
  failure?: Failure;
}

/** One command against the server: names become ids, losses are confirmed, the operation is called, and its thing is watched. */
export async function perform(performing: Performing): Promise<Performed> {
  const { command, manner } = performing;
  const finder = makeFinder(performing);
  const resolved = await resolveNames(finder, command, performing.params, performing.input);
  const lost = await confirmed(finder, performing, resolved);
  // Asked beside the create: @last is kept for the caller in the organization that the token acts in.
  const caller = readThings().creations[command.operation] ? finder.caller() : undefined;
  const answer = await callOperation(performing, resolved).catch(async (error: unknown) => {
    const isUnknown = error instanceof ApiError && error.status === 404;
    throw (isUnknown && (await findMistyped(finder, command, resolved.params))) || error;
  });

  const made = madeBy(command, answer, resolved.input);
  if (made) await remember(performing, made, caller!);
  const isQuiet = isForProgram(manner);
  const sayDone = () => {
    if (isQuiet) return;
    if (made) sayMade(made);
    if (made) sayNext(command, made);
    if (lost) tell(`${pastOf(command, manner)} ${lost}`);
  };
  if (manner.waitMs === undefined) return { answer, say: sayDone };
  if (made && !isQuiet) sayMade(made);
  const waited = await watch(performing, resolved, answer, made);
  if (waited.failure) return waited;
  return { ...waited, say: made ? () => isQuiet || sayNext(command, made, { isWaited: true }) : sayDone };
}

/** What a create answers, such as a secret that is shown once, must not wait long for the name of the caller. */
const callerTimeoutMs = 5_000;

function makeFinder({ api, env, url }: Performing): Finder {
  let caller: Promise<string | undefined> | undefined;
  return {
    api,
    env,
    url,
    lists: new Map(),
    caller() {
      caller ??= api.organization
        .getMe({ signal: AbortSignal.timeout(callerTimeoutMs) })
        .then(({ id, organizations: [acting] }) => acting && `${acting.slug} ${id}`)
        .catch(() => undefined);
      return caller;
    },
  };
}

async function callOperation({ api, command, manner }: Performing, { params, input }: Resolved): Promise<unknown> {
  const operation = (api as unknown as Record<string, Record<string, Call>>)[command.area]![command.operation]!;
  const args = command.fields.length || command.body ? [...params, input] : params;
  return manner.all ? joined(operation.pages(...args), command) : operation(...args);
}

/** With the thousand items that a slice may have, a million: more is for a program with the SDK. */
export const maxSlices = 1000;

/** All slices as one answer. */
export async function joined(slices: AsyncGenerator<Item>, { columns }: Pick<Command, 'columns'>, limit = maxSlices) {
  const list = Object.keys(columns)[0]!;
  const items: unknown[] = [];
  let count = 0;
  for await (const slice of slices) {
    for (const item of slice[list] as unknown[]) items.push(item);
    if (slice['cursor'] !== undefined && ++count === limit)
      throw new Failure(
        exitCodes.refused,
        `the list has more than ${limit} slices, and --all takes no more: narrow it, give a larger --limit, or go on from slice to slice with --cursor`,
      );
  }
  return { [list]: items };
}

/** Names what will be lost and asks; the words for it afterwards, or undefined where nothing is lost. */
async function confirmed(finder: Finder, { command, manner }: Performing, resolved: Resolved): Promise<string | undefined> {
  const { losses, things } = readThings();
  const loss = losses[command.operation];
  if (!loss) return undefined;
  const prompt = manner.prompt ?? terminalPrompt();
  const word = loss.thing ? things[loss.thing]!.word : loss.word!;
  const mayLookUp = prompt.isTerminal && !manner.yes;
  const what = loss.thing
    ? await nameOf(finder, loss.thing, resolved, mayLookUp)
    : { id: (loss.fields ?? []).map((name) => String(resolved.input[name])).join(' ') };
  const verb = command.words.at(-1)!;
  await confirmLoss({ word, what, loses: loss.loses, forGood: loss.forGood === true, verb }, manner.yes === true, prompt);
  return describe(word, what).trimEnd();
}

/** The name of a thing that was given by its id: looked up only to ask a person about it. */
async function nameOf(finder: Finder, kind: string, { named, params }: Resolved, mayLookUp: boolean): Promise<Found> {
  const given = named.at(-1)!;
  const thing = readThings().things[kind]!;
  if (given.name || !mayLookUp || !thing.list) return given;
  const listed = await listThings(finder, thing, params).catch(() => undefined);
  const item = listed?.items.find((one) => String(one[thing.id]) === given.id);
  if (item) return foundAs(thing, item);
  // No question about a name that is a typo: the answer would be given for nothing.
  if (thing.prefix === undefined && listed && !listed.isCut) throw unknownThing(thing, listed.items, given.id, params);
  return given;
}

function pastOf({ operation }: Command, { waitMs }: Manner): string {
  const { losses, waits } = readThings();
  return waits[operation]?.gone && waitMs === undefined ? 'deleting' : losses[operation]!.done;
}

async function remember({ env, url }: Performing, made: Found & { kind: string }, caller: Promise<string | undefined>): Promise<void> {
  const who = await caller;
  const { id, name } = made;
  if (who !== undefined) keepLast(env, url, who, readThings().things[made.kind]!.word, { id, ...(name ? { name } : {}) });
}

/** Watches what the operation made or changed. Where the answer shows its state, the last look takes the answer's place. */
async function watch(
  { api, command, manner }: Performing,
  resolved: Resolved,
  answer: unknown,
  made: Found | undefined,
): Promise<Performed> {
  const { waits, watches } = readThings();
  const { watch: name, gone, wanted = [], mayBeStale = false } = waits[command.operation]!;
  const of = watches[name]!;
  const held = of.at && isObject(answer) ? answer[of.at] : answer;
  const showsState = isObject(held) && of.state in held;
  const until = performance.now() + manner.waitMs!;
  let latest = answer;
  try {
    for (const what of watched(answer, made ?? resolved.named.at(-1))) {
      const look = await waitFor({
        api,
        watch: of,
        what,
        isGone: gone === true,
        mayBeStale,
        wanted: Object.fromEntries(
          wanted.flatMap((field) => (resolved.input[field] === undefined ? [] : [[field, resolved.input[field]]])),
        ),
        timeoutMs: Math.max(0, until - performance.now()),
      });
      if (showsState) latest = look;
    }
    return { answer: latest };
  } catch (error) {
    if (!(error instanceof Failure)) throw error;
    return { answer: error instanceof Stopped && showsState ? error.answer : latest, failure: error };
  }
}

/** The things to watch: the answer's own id (a new delivery), or what was made or named. */
function watched(answer: unknown, known: Found | undefined): Found[] {
  if (isObject(answer) && known?.name === undefined && ['string', 'number'].includes(typeof answer['id']))
    return [{ id: String(answer['id']) }];
  return known ? [known] : [];
}
