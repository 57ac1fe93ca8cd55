import assert from 'node:assert/strict';
import { test } from 'node:test';
import { tokens as area } from '../../src/areas/tokens/index.ts';
import { withRecipes } from './recipes/index.ts';
import { tokens as recipes } from './recipes/tokens.ts';

test('a served operation without a recipe is found, and told where it goes', () => {
  const { deleteToken, ...rest } = recipes;
  assert.ok(deleteToken);
  assert.throws(
    () => withRecipes(area, rest),
    /deleteToken \(DELETE \/tokens\/\{id\}\) is served and has no recipe; add one to test\/matrix\/recipes\/tokens\.ts/,
  );
});

test('a recipe that lacks what its operation needs is found', () => {
  const told = (id: string) => () => withRecipes(area, { ...recipes, [id]: {} });
  assert.throws(
    told('deleteToken'),
    /deleteToken in test\/matrix\/recipes\/tokens\.ts needs `make` for the parameters of \/tokens\/\{id\}/,
  );
  assert.throws(told('createToken'), /createToken in test\/matrix\/recipes\/tokens\.ts needs `body`/);
});

test('a recipe that nothing serves is found', () => {
  assert.throws(
    () => withRecipes(area, { ...recipes, launchRocket: {} }),
    /recipes\/tokens\.ts has a recipe for launchRocket, which nothing serves/,
  );
});
