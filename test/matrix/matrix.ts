import { type Op, pathParams } from '../../contract/shared.ts';
import { type Answer, caller as callerWith } from '../harness/index.ts';
import { type Kitchen, pathOf, type Recipe, type Thing } from './recipe.ts';
import type { Served } from './recipes/index.ts';
import { type Subject, subjects, type World } from './world.ts';

export interface Cell {
  subject: Subject;
  text: string;
  answer: Answer;
  /** The answer without ids and what the request itself named: what is left must not tell the unknown from the foreign. */
  blind: string;
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
}

/** Every row of one operation. With several path parameters, each is foreign and unknown by itself too. */
export function plansOf(served: Served): Plan[] {
  const { cases = {}, key, ...recipe } = served.recipe;
  const params = pathParams(served.spec.path);
  const plan = (what: string, named: Named = 'own', over: Partial<Recipe> = {}): Plan => ({ served, what, named, recipe: { ...recipe, ...over } });
  const each = (of: 'other' | 'unknown') => (params.length > 1 ? params.map((p) => plan(`${of} {${p}}`, { of, params: [p] })) : []);
  return [
    plan(params.length ? 'own' : ''),
    ...(params.length ? [plan('other', { of: 'other', params })] : []),
    ...each('other'),
    ...(params.length ? [plan('unknown', { of: 'unknown', params })] : []),
    ...each('unknown'),
    ...(key ? [plan('by its key', 'own', { key }), plan("by another's key", 'own', { key: foreignKey(recipe, key) })] : []),
    ...Object.entries(cases).map(([what, over]) => plan(what, 'own', over)),
  ];
}

/** A good key of the right kind, of something in another organization. */
const foreignKey =
  ({ make }: Recipe, key: NonNullable<Recipe['key']>): Recipe['key'] =>
  async (kitchen) => {
    const abroad = { ...kitchen, at: kitchen.foreigner, caller: kitchen.foreigner };
    return key(abroad, await make?.(abroad));
  };

export async function computeRow(world: World, { served: { spec }, what, recipe, named }: Plan): Promise<Row> {
  const cells: Cell[] = [];
  const { home, foreigner, qd } = world;
  let kept: Thing | undefined; // a thing serves callers until one of them changes it
  const foreign = named !== 'own' && named.of === 'other' ? await recipe.make!({ qd, at: foreigner, caller: foreigner, foreigner }) : undefined;
  if (foreign) for (const word of Object.values(foreign.params)) world.secretsOf.get(foreigner.orgId)!.add(word);

  for (const subject of subjects) {
    const asker = await world.asker(subject, { fresh: recipe.spendsCaller === true });
    const kitchen: Kitchen = { qd, at: home, caller: asker.person, foreigner };
    if (recipe.perCaller) kept = undefined;
    kept ??= await (recipe.make ?? recipe.lists)?.(kitchen);
    const params = named === 'own' ? (kept?.params ?? {}) : { ...kept!.params, ...strange(named, kept!, foreign) };
    const body = await recipe.body?.(kitchen, kept);
    const caller = recipe.key ? callerWith(qd.url, await recipe.key(kitchen, kept)) : await asker.as(kept);

    const answer = await caller.request(spec.method, pathOf(spec, recipe.make ? params : {}, recipe.query), body);
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
    const listed = recipe.lists && Object.values(kept!.params).every((word) => text.includes(word));
    const blind = `${answer.status} ${answer.headers.get('x-error-code')} ${Object.values(params).reduce((t, word) => t.replaceAll(word, '…'), text).replaceAll(anId, '…')}`;
    cells.push({ subject, text: `${answer.status}${answer.status < 300 && listed ? '+' : ''}`, answer, blind });
    if (answer.status < 300 && spec.method !== 'GET') kept = undefined;
  }
  return { spec, what, named, cells };
}

const strange = ({ of, params }: Exclude<Named, 'own'>, own: Thing, foreign: Thing | undefined) =>
  Object.fromEntries(params.map((p) => [p, of === 'other' ? foreign!.params[p]! : neverWas(own.params[p]!)]));

const anId = /\b[a-z]{2,8}_[0-9A-Z]{26}\b/g;

/** Well-formed, and nobody’s. */
const neverWas = (value: string) => (/^[a-z]+_[0-9A-Z]{26}$/.test(value) ? `${value.split('_')[0]}_00000000000000000000000000` : /^\d+$/.test(value) ? '2147483600' : 'never-was');

/** Runs them a few at a time: as many as the database has connections for, about. */
export async function computeMatrix(world: World, plans: Plan[], atOnce = 6): Promise<Row[]> {
  const found: Row[] = [];
  let next = 0;
  const work = async () => {
    for (let i = next++; i < plans.length; i = next++) {
      const plan = plans[i]!;
      found[i] = await computeRow(world, plan).catch((error: Error) => {
        throw new Error(`${plan.served.spec.id} ${plan.what}: ${error.message}`, { cause: error });
      });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return found;
}
