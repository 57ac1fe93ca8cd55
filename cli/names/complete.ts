import type { Command as Commander } from 'commander';
import { type Command, type Field, readCommands } from '../../sdk/commands.ts';
import { quarterdeck } from '../../sdk/index.ts';
import { readThings } from '../../sdk/things.ts';
import { fieldCalled } from '../aliases.ts';
import { type CliContext, findConnection } from '../connect.ts';
import { localName, profileNames } from '../profiles/folder.ts';
import { type Finder, type Found, findThing, foundAs, listThings } from './find.ts';
import type { Item } from './operations.ts';

/** Where the name of a login is typed. */
export const profilePlaces = ['profile use', 'profile show', 'profile remove'];

const timeoutMs = 1000;
const maxNames = 200;

/** `quarterdeck __complete <what was typed…>`: the scripts of completion ask for names here. Silent on every failure. */
export function registerNames(program: Commander, here: CliContext) {
  program
    .command('__complete', { hidden: true })
    .argument('[words...]')
    .allowUnknownOption()
    .passThroughOptions()
    .helpOption(false)
    .action(async (words: string[]) => {
      const names = await within(offerNames(words, here)).catch(() => []);
      if (names.length) process.stdout.write(`${names.join('\n')}\n`);
    });
}

const within = <T>(work: Promise<T>): Promise<T> =>
  Promise.race([work, new Promise<never>((_, reject) => setTimeout(() => reject(new Error('too late')), timeoutMs).unref())]);

/** The names that fit the last word. */
async function offerNames(words: string[], here: CliContext): Promise<string[]> {
  const begun = words.at(-1) ?? '';
  if (words.at(-2) === '--profile' || profilePlaces.includes(words.slice(0, -1).join(' ')))
    return [...profileNames(here.env), localName].filter((name) => name.startsWith(begun));
  const place = placeOf(words.slice(0, -1), begun);
  if (!place) return [];
  const { url, token } = await findConnection(place.connection, here);
  if (!token) return [];
  // One limit for all questions: a shell waits until this process ends, not until its first line.
  const late = AbortSignal.timeout(timeoutMs);
  const fetchInTime: typeof fetch = (input, init) =>
    fetch(input, { ...init, signal: init?.signal ? AbortSignal.any([init.signal, late]) : late });
  const api = quarterdeck({ url, token, retries: 0, timeoutMs, userAgent: `quarterdeck-cli/${here.version}`, fetch: fetchInTime });
  const finder: Finder = { api, env: here.env, url, lists: new Map(), caller: async () => undefined };
  const params: string[] = [];
  for (const [n, text] of place.params.entries()) {
    const { thing } = place.command.params[n]!;
    params.push(typeof thing === 'string' ? (await findThing(finder, thing, text, params)).id : text);
  }
  const thing = readThings().things[place.thing]!;
  if (!thing.list) return [];
  const { items } = await listThings(finder, thing, params);
  // `--step schedule=pri`: what stands before the value is kept.
  const typed = begun.slice(Math.max(begun.lastIndexOf('='), begun.lastIndexOf(',')) + 1);
  const offered = items.flatMap((item) => wordFor(foundAs(thing, item)) ?? []).filter((word) => word.startsWith(typed));
  return [...new Set(offered)].slice(0, maxNames).map((word) => begun.slice(0, begun.length - typed.length) + word);
}

/** What stands in a shell's line as it is: other people's names must not become commands there, and no id of a server that is not honest. */
export const wordFor = ({ id, name }: Found): string | undefined =>
  [name, id].find((word) => word !== undefined && /^[A-Za-z0-9][A-Za-z0-9@._:/+-]{0,99}$/.test(word));

interface Place {
  command: Command;
  /** The kind of thing that is typed now. */
  thing: string;
  params: string[];
  connection: Item;
}

/** Where the next word stands: behind a flag that takes a thing, or as an argument. */
function placeOf(words: string[], begun: string): Place | undefined {
  const connection: Item = {};
  const command = readCommands()
    .commands.filter((c) => c.words.every((word, n) => words[n] === word))
    .sort((a, b) => b.words.length - a.words.length)[0];
  if (!command) return undefined;
  const params: string[] = [];
  let open: string | undefined;
  for (const word of words.slice(command.words.length)) {
    if (open !== undefined) {
      if (open === 'url' || open === 'token' || open === 'profile') connection[open] = word;
      open = undefined;
    } else if (word.startsWith('-')) open = takesValue(command, word) ? word.replace(/^-+/, '') : undefined;
    else params.push(word);
  }
  const field = open === undefined ? command.params[params.length] : fieldCalled(command.fields, open);
  const thing = field && kindIn(field, begun);
  return thing ? { command, thing, params: params.slice(0, command.params.length), connection } : undefined;
}

const withoutValue = ['--json', '--all', '--yes', '-y', '--wait', '--watch', '-w', '--help', '-h'];

function takesValue(command: Command, word: string): boolean {
  if (word.includes('=') || withoutValue.includes(word) || word.startsWith('--no-')) return false;
  const field = fieldCalled(command.fields, word.replace(/^-+/, ''));
  return !(field?.type === 'boolean' && !field.list);
}

/** The thing that a flag takes: its own, the one of the key before the value, or that of the first required field of its object. */
function kindIn({ thing, fields = [] }: Field, begun: string): string | undefined {
  if (typeof thing === 'string') return thing;
  const pair = begun.slice(begun.lastIndexOf(',') + 1);
  const key = pair.includes('=') ? pair.slice(0, pair.indexOf('=')) : undefined;
  if (key !== undefined) {
    const called = fieldCalled(fields, key)?.thing;
    const byKind = fields.flatMap((f) => f.fields ?? []).find((f) => typeof f.thing === 'object' && Object.hasOwn(f.thing.of, key))?.thing;
    return typeof called === 'string' ? called : typeof byKind === 'object' ? byKind.of[key] : undefined;
  }
  const inner = fields.find((f) => f.required && typeof f.thing === 'string');
  return inner && typeof inner.thing === 'string' ? inner.thing : undefined;
}
