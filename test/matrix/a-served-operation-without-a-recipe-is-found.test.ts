import assert from 'node:assert/strict';
import { test } from 'node:test';
import { areas } from '../../src/areas/index.ts';
import { servedOperations, withRecipes } from './recipes/index.ts';

const recipes = Object.fromEntries(servedOperations().map(({ spec, recipe }) => [spec.id, recipe]));

test('a served operation without a recipe is found, and told where it goes', () => {
  const { createOncallService, ...rest } = recipes;
  assert.ok(createOncallService);
  assert.throws(() => withRecipes(areas, rest), /createOncallService \(POST \/oncall\/services\) is served and has no recipe; add one to test\/matrix\/recipes\/services\.ts/);
});

test('a recipe that lacks what its operation needs is found', () => {
  assert.throws(() => withRecipes(areas, { ...recipes, deleteToken: {} }), /deleteToken in test\/matrix\/recipes\/tokens\.ts needs `make` for the parameters of \/tokens\/\{id\}/);
  assert.throws(() => withRecipes(areas, { ...recipes, createToken: {} }), /createToken in test\/matrix\/recipes\/tokens\.ts needs `body`/);
});

test('a recipe that nothing serves is found', () => {
  assert.throws(() => withRecipes(areas, { ...recipes, launchRocket: {} }), /a recipe for launchRocket, which nothing serves/);
});
