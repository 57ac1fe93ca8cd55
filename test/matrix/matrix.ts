import { type Op, pathParams } from '../../contract/common.ts';
import { type Wire, type WireAnswer, wire } from '../conformance/wire.ts';
import { type Kitchen, make, pathOf, type Recipe, type Thing } from './recipe.ts';
import type { Served } from './recipes/index.ts';
import { type Asker, isPerson, type SessionAge, type Subject, subjects, type World } from './world.ts';

export interface Cell {
  subject: Subject;
  text: string;
  answer: WireAnswer;
  /** The answer without ids and what the request itself named: what is left must not tell the unknown from the foreign. */
  blind: string;
  /** The same, asked by a session of that person that proved itself a moment ago, and by one that did so long ago. */
  bySession?: { fresh: string; stale: string; blind: string };
}

export interface Row {
  spec: Op;
  what: string;
  named: Named;
  cells: Cell[];
}

/** What the path names in a row: something of the organization, something of another one, something that never was. */
export type Named = 'own' | { of: 'other' | 'unknown'; params: string[] };

interface Plan {
  served: Served;
  what: string;
  recipe: Omit<Recipe, 'cases'>;
  named: Named;
  /** What the rows of an operation whose every answer is a refusal have in common. */
  shared: { own?: Promise<Thing | undefined>; abroad?: Promise<Thing | undefined> };
}

/** Every row of one operation. With several path parameters, each is foreign and unknown by itself too. */
export function plansOf(served: Served): Plan[] {
  const { cases = {}, key, ...recipe } = served.recipe;
  const params = pathParams(served.spec.path);
  const shared: Plan['shared'] = {};
  const plan = (what: string, named: Named = 'own', over: Partial<Recipe> = {}): Plan => ({
    served,
    what,
    named,
    recipe: { ...recipe, ...over },
    shared,
  });
  const strangely = (of: 'other' | 'unknown', names: string[]) => [
    ...(names.length ? [plan(of, { of, params: names })] : []),
    ...(params.length > 1 ? names.map((p) => plan(`${of} {${p}}`, { of, params: [p] })) : []),
  ];
  return [
    plan(params.length ? 'own' : ''),
    ...strangely(
      'other',
      params.filter((p) => !recipe.shared?.includes(p)),
    ),
    ...strangely('unknown', params),
    ...(key ? [plan('by its key', 'own', { key }), plan("by another's key", 'own', { key: foreignKey(recipe, key) })] : []),
    ...Object.entries(cases).map(([what, over]) => plan(what, 'own', over)),
  ];
}

/** A good key of the right kind, of something in another organization. */
const foreignKey =
  (recipe: Recipe, key: NonNullable<Recipe['key']>): Recipe['key'] =>
  async (kitchen) => {
    const abroad = { ...kitchen, at: kitchen.foreigner, caller: kitchen.foreigner };
    return key(abroad, await make(recipe, abroad));
  };

type Send = ReturnType<typeof wire>['send'];

let rows = 0;
/** Each row asks from an address of its own: wrong keys are counted by address, and would be refused for their number alone. */
const nextAddress = () => `203.0.${Math.floor(++rows / 256)}.${rows % 256}`;

async function computeRow(world: World, send: Send, { served: { spec }, what, recipe, named, shared }: Plan): Promise<Row> {
  const cells: Cell[] = [];
  const address = nextAddress();
  const { home, foreigner, qd, fakes } = world;
  // What was made for one caller serves the next ones, until one of them changes something.
  let kept: Thing | undefined;
  let body: { value: unknown; isTheirs: boolean } | undefined;
  let ownKey: string | undefined;
  const refused = new Map<string, WireAnswer>();
  const forget = () => {
    kept = body = ownKey = undefined;
    refused.clear();
  };
  // What a list, or an answer to a foreign id, must not tell of. A small number (the id of an OIDC rule) is in every answer somewhere.
  const makeAbroad = () => make(recipe, { qd, fakes, at: foreigner, caller: foreigner, foreigner });
  if (named !== 'own') shared.abroad ??= makeAbroad();
  const abroad = named !== 'own' ? await shared.abroad : recipe.lists ? await makeAbroad() : undefined;
  const telling = Object.keys(abroad?.params ?? {}).filter(
    (name) => !recipe.shared?.includes(name) && !/^\d+$/.test(abroad!.params[name]!),
  );
  for (const name of telling) world.secretsOf.get(foreigner.orgId)!.add(abroad!.params[name]!);

  /** Asks once, for what is there already or is made now. */
  const ask = async (asker: Asker, how: 'token' | SessionAge) => {
    const kitchen: Kitchen = { qd, fakes, at: home, caller: asker.person, foreigner };
    const isShared = named !== 'own' && !recipe.perCaller;
    if (isShared) shared.own ??= make(recipe, kitchen);
    kept ??= await (isShared ? shared.own : make(recipe, kitchen));
    const params = named === 'own' ? (kept?.params ?? {}) : { ...kept!.params, ...strange(named, kept!, abroad!) };
    if (!body || body.isTheirs) body = await makeBody(recipe, kitchen, kept);
    if (recipe.key) ownKey ??= await recipe.key(kitchen, kept);
    const key = recipe.key ? ownKey : how === 'token' ? await asker.keyFor(kept) : undefined;

    const request: Wire = {
      method: spec.method,
      path: `/api/v1${pathOf(spec, params, recipe.query?.(kept))}`,
      headers: {
        'x-forwarded-for': address,
        ...(key ? { authorization: `Bearer ${key}` } : {}),
        ...(how === 'token' ? {} : await world.sessionOf(asker.person, how)),
        ...(body.value === undefined ? {} : { 'content-type': 'application/json' }),
      },
      body: body.value === undefined ? undefined : JSON.stringify(body.value),
    };
    // With a key of its own kind, all send the same: what is refused once is not asked again.
    const sent = JSON.stringify(request);
    const answer = refused.get(sent) ?? (await send(request));
    const { status, text } = answer;
    if (status >= 400) refused.set(sent, answer);
    const listed = recipe.lists && wordsBeside(spec, kept!).every((word) => text.includes(word));
    const bare = Object.values(params).reduce((t, word) => t.replaceAll(word, '…'), text.replaceAll(anId, '…'));
    if (status < 300 && spec.method !== 'GET') forget();
    return {
      answer,
      text: `${status}${status < 300 && listed ? '+' : ''}`,
      blind: `${status} ${answer.headers['x-error-code']} ${bare}`,
    };
  };

  for (const subject of subjects) {
    const newAsker = () => {
      if (recipe.perCaller) forget();
      return world.asker(subject, { fresh: recipe.spendsCaller === true });
    };
    const cell: Cell = { subject, ...(await ask(await newAsker(), 'token')) };
    if (isPerson(subject) && !recipe.key) {
      const fresh = await ask(await newAsker(), 'fresh');
      // Its age matters to operations that are marked, and to no other (`requireSession` in identity/context.ts).
      const stale = spec.fresh || spec.session ? await ask(await newAsker(), 'stale') : fresh;
      cell.bySession = { fresh: fresh.text, stale: stale.text, blind: fresh.blind };
    }
    cells.push(cell);
  }
  return { spec, what, named, cells };
}

/** A body, and whether it was made for this very caller. */
async function makeBody(recipe: Plan['recipe'], kitchen: Kitchen, thing: Thing | undefined) {
  let isTheirs = false;
  const watched = {
    ...kitchen,
    get caller() {
      isTheirs = true;
      return kitchen.caller;
    },
  };
  const value = await recipe.body?.(watched, thing);
  return { value, isTheirs };
}

/** What a list must show of a thing: what its own path did not say. */
const wordsBeside = (spec: Op, { params }: Thing) =>
  Object.keys(params).flatMap((name) => (spec.path.includes(`{${name}}`) ? [] : [params[name]!]));

const strange = ({ of, params }: Exclude<Named, 'own'>, own: Thing, abroad: Thing) =>
  Object.fromEntries(params.map((p) => [p, of === 'other' ? abroad.params[p]! : neverWas(own.params[p]!)]));

const anId = /\b[a-z]{2,8}_[0-9A-Z]{26}\b/g;

/** Well-formed, and nobody’s. */
export const neverWas = (value: string) =>
  /^[a-z]+_[0-9A-Z]{26}$/.test(value)
    ? `${value.split('_')[0]}_00000000000000000000000000`
    : /^\d+$/.test(value)
      ? '2147483600'
      : 'never-was';

/** Runs them a few at a time: as many as the database has connections for, about. */
export async function computeMatrix(world: World, plans: Plan[], atOnce = 6): Promise<Row[]> {
  const found: Row[] = [];
  const { send, close } = wire(world.qd.url);
  let next = 0;
  const work = async () => {
    for (let i = next++; i < plans.length; i = next++) {
      const plan = plans[i]!;
      found[i] = await computeRow(world, send, plan).catch((error: Error) => {
        throw new Error(`${plan.served.spec.id} ${plan.what}: ${error.message}`, { cause: error });
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work)).finally(close);
  return found;
}
