import { type Op, pathParams } from '../../../contract/common.ts';
import type { AnyArea } from '../../../src/areas/area.ts';
import { areas } from '../../../src/areas/index.ts';
import type { Recipe, Recipes } from '../recipe.ts';
import { account } from './account.ts';
import { clusters } from './clusters.ts';
import { email } from './email.ts';
import { iam } from './iam.ts';
import { live } from './live.ts';
import { oncall } from './oncall.ts';
import { organization } from './organization.ts';
import { overview } from './overview.ts';
import { registry } from './registry.ts';
import { status } from './status.ts';
import { tokens } from './tokens.ts';
import { uptime } from './uptime.ts';

/** One file for each area, one word here. */
const recipes: Record<string, Recipes> = {
  tokens,
  iam,
  organization,
  account,
  registry,
  email,
  clusters,
  oncall,
  status,
  uptime,
  overview,
  live,
};

export interface Served {
  spec: Op;
  recipe: Recipe;
}

export interface ServedArea {
  name: string;
  /** Its operations, each with its recipe. Complete by construction: one without a recipe stops the test that asks. */
  operations(): Served[];
}

/** Operations that take a token. The others are for people who are signed in; the authorization matrix asks them by session. */
export const byToken = (area: ServedArea): Served[] => area.operations().filter(({ spec }) => !spec.session);

/** Those that serve operations: the catalog of services is shown by uptime and on-call. */
export const servedAreas = (): ServedArea[] =>
  areas
    .filter((area) => area.operations.length)
    .map((area) => ({ name: area.name, operations: () => withRecipes(area, recipes[area.name] ?? {}) }));

export function withRecipes({ name, operations }: Pick<AnyArea, 'name' | 'operations'>, known: Recipes): Served[] {
  const file = `test/matrix/recipes/${name}.ts`;
  const complaints = operations.flatMap(({ spec }) => {
    const recipe = known[spec.id];
    const needs = (what: string) => [`the recipe of ${spec.id} in ${file} needs ${what}`];
    if (!recipe)
      return [`${spec.id} (${spec.method} ${spec.path}) is served and has no recipe; add one to ${file} (test/matrix/recipe.ts says how)`];
    if (pathParams(spec.path).length && !recipe.make && !recipe.lists) return needs(`\`make\` for the parameters of ${spec.path}`);
    if (spec.body && !recipe.body) return needs('`body`');
    if (spec.credential && !recipe.key) return needs(`\`key\`: the operation asks for a ${spec.credential} key`);
    return [];
  });
  const served = new Set(operations.map(({ spec }) => spec.id));
  for (const id of Object.keys(known))
    if (!served.has(id)) complaints.push(`${file} has a recipe for ${id}, which nothing serves; remove it`);
  if (complaints.length) throw new Error(complaints.join('\n'));
  return operations.map(({ spec }) => ({ spec, recipe: known[spec.id]! }));
}
