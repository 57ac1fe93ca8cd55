import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { findRoute } from '../../rules/routing.ts';

const letters = fc.array(fc.constantFrom('a', 'b', '.', '+'), { maxLength: 4 }).map((parts) => parts.join(''));
const pattern = fc.oneof(
  letters.filter((text) => text !== ''),
  letters.map((text) => `${text}*`),
);

test('exact wins over a prefix, a longer prefix over a shorter one, the star is last; letter case is nothing', () => {
  fc.assert(
    fc.property(fc.uniqueArray(pattern, { maxLength: 8 }), letters, (patterns, local) => {
      const routes = patterns.map((each) => ({ pattern: each }));
      const matches = patterns.filter((each) => (each.endsWith('*') ? local.startsWith(each.slice(0, -1)) : local === each));
      const wanted = matches.includes(local) ? local : matches.sort((a, b) => b.length - a.length)[0];
      assert.equal(findRoute(routes, local)?.pattern, wanted);
      assert.equal(findRoute(routes, local.toUpperCase())?.pattern, wanted);
    }),
  );
});
