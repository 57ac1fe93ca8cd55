import { pathParams } from '../../contract/shared.ts';
import type { Answer } from '../harness/index.ts';
import { type Kitchen, pathOf, type Recipe, type Thing } from './recipe.ts';
import type { Served } from './recipes/index.ts';
import { type Subject, subjects, type World } from './world.ts';

export interface Cell {
  subject: Subject;
  text: string;
  answer: Answer;
  /** The answer with what the request itself named taken out: what is left must not tell the unknown from the foreign. */
  blind: string;
}

export interface Row {
  operation: string;
  what: string;
  cells: Cell[];
}

/** What the path names in a row: something of the organization, something of another one, something that never was. */
type Named = 'own' | { of: 'other' | 'unknown'; params: string[] };

interface Plan {
  served: Served;
  what: string;
  recipe: Omit<Recipe, 'cases'>;
  named: Named;
}

/** Every row of one operation. With several path parameters, each is foreign and unknown by itself too. */
export function plansOf(served: Served): Plan[] {
  const { cases = {}, ...recipe } = served.recipe;
  const params = pathParams(served.spec.path);
  const plan = (what: string, named: Named = 'own', over: Partial<Recipe> = {}): Plan => ({ served, what, named, recipe: { ...recipe, ...over } });
  const each = (of: 'other' | 'unknown') => (params.length > 1 ? params.map((p) => plan(`${of} {${p}}`, { of, params: [p] })) : []);
  return [
    plan(params.length ? 'own' : ''),
    ...(params.length ? [plan('other', { of: 'other', params })] : []),
    ...each('other'),
    ...(params.length ? [plan('unknown', { of: 'unknown', params })] : []),
    ...each('unknown'),
    ...Object.entries(cases).map(([what, over]) => plan(what, 'own', over)),
  ];
}

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
    const caller = await asker.as(kept);

    const answer = await caller.request(spec.method, pathOf(spec, recipe.make ? params : {}, recipe.query), body);
    const text = typeof answer.body === 'string' ? answer.body : JSON.stringify(answer.body);
    const listed = recipe.lists && Object.values(kept!.params).every((word) => text.includes(word));
    const blind = `${answer.status} ${answer.headers.get('x-error-code')} ${Object.values(params).reduce((t, word) => t.replaceAll(word, '…'), text)}`;
    cells.push({ subject, text: `${answer.status}${answer.status < 300 && listed ? '+' : ''}`, answer, blind });
    if (answer.status < 300 && spec.method !== 'GET') kept = undefined;
  }
  return { operation: spec.id, what, cells };
}

const strange = ({ of, params }: Exclude<Named, 'own'>, own: Thing, foreign: Thing | undefined) =>
  Object.fromEntries(params.map((p) => [p, of === 'other' ? foreign!.params[p]! : neverWas(own.params[p]!)]));

/** Well-formed, and nobody’s. */
const neverWas = (value: string) => (/^[a-z]+_[0-9A-Z]{26}$/.test(value) ? `${value.split('_')[0]}_00000000000000000000000000` : /^\d+$/.test(value) ? '2147483600' : 'never-was');

/** Runs them a few at a time: as many as the database has connections for, about. */
export async function computeMatrix(world: World, plans: Plan[], atOnce = 6): Promise<Row[]> {
  const found: Row[] = [];
  let next = 0;
  const work = async () => {
    for (let i = next++; i < plans.length; i = next++) found[i] = await computeRow(world, plans[i]!);
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return found;
}

const short: Record<string, string> = { viewer: 'view', editor: 'edit', admin: 'adm' };
const heading = (subject: Subject) => {
  const [service, tier] = subject.split('.') as [string, string | undefined];
  return tier ? `${service.slice(0, 3)}.${short[tier]}` : subject;
};

/** The committed text: one line a row, one column a subject. */
export function render(rows: Row[]): string {
  const columns = subjects.map((s) => ({ title: heading(s), width: Math.max(heading(s).length, 4) }));
  const first = Math.max(...rows.map((r) => r.operation.length));
  const second = Math.max(...rows.map((r) => r.what.length));
  const line = (operation: string, what: string, cells: string[]) =>
    [operation.padEnd(first), what.padEnd(second), ...cells.map((c, i) => c.padEnd(columns[i]!.width))].join('  ').trimEnd();
  return [
    '# Every served operation × who asks × what the path names → status. Written by QUARTERDECK_UPDATE=1 npm test -- test/matrix; read every change.',
    '# own, other, unknown: a thing of the organization, of another one, of nobody. `+`: the list shows a thing that was made for the row.',
    '# Service roles (reg, ema, onc, clu, upt) are granted to a plain member. narrowed: an owner’s token bound to the very thing asked for;',
    '# elsewhere: bound to another one. none: no token. outsider: the owner of another organization.',
    line('# operation', 'named', columns.map((c) => c.title)),
    ...rows.map((r, i) => (rows[i - 1] && rows[i - 1]!.operation !== r.operation && r.cells.length ? '' : '') + line(r.operation, r.what, r.cells.map((c) => c.text))),
    '',
  ].join('\n');
}
