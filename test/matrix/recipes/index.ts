import { type Op, pathParams } from '../../../contract/shared.ts';
import type { Area } from '../../../src/areas/area.ts';
import { areas } from '../../../src/areas/index.ts';
import type { Recipe, Recipes } from '../recipe.ts';
import { iam } from './iam.ts';
import { organization } from './organization.ts';
import { registry } from './registry.ts';
import { services } from './services.ts';
import { tokens } from './tokens.ts';

/** One file for each area, one line here. */
const recipes: Recipes = { ...tokens, ...iam, ...organization, ...services, ...registry };

export interface Served {
  spec: Op;
  recipe: Recipe;
}

/** Every operation that is served, with its recipe. Complete by construction: one without a recipe stops the test that asks. */
export const servedOperations = (): Served[] => withRecipes(areas, recipes);

export function withRecipes(from: Pick<Area, 'name' | 'operations'>[], known: Recipes): Served[] {
  const served = from.flatMap((area) => area.operations.map(({ spec }) => ({ area: area.name, spec, recipe: known[spec.id] })));
  const complaints = served.flatMap(({ area, spec, recipe }) => {
    const file = `test/matrix/recipes/${area}.ts`;
    if (!recipe) return [`${spec.id} (${spec.method} ${spec.path}) is served and has no recipe; add one to ${file} (test/matrix/recipe.ts says how)`];
    if (pathParams(spec.path).length && !recipe.make) return [`the recipe of ${spec.id} in ${file} needs \`make\` for the parameters of ${spec.path}`];
    if (spec.body && !recipe.body) return [`the recipe of ${spec.id} in ${file} needs \`body\``];
    if (spec.credential && !recipe.key) return [`the recipe of ${spec.id} in ${file} needs \`key\`: the operation asks for a ${spec.credential} key`];
    return [];
  });
  const ids = new Set(served.map(({ spec }) => spec.id));
  for (const id of Object.keys(known)) if (!ids.has(id)) complaints.push(`there is a recipe for ${id}, which nothing serves; remove it from test/matrix/recipes`);
  if (complaints.length) throw new Error(complaints.join('\n'));
  return served.map(({ spec, recipe }) => ({ spec, recipe: recipe! }));
}
