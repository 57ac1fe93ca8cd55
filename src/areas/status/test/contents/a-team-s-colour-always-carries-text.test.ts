import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { accentOf, cards, contrast, grounds } from '../../rules/accent.ts';

const hex = fc.integer({ min: 0, max: 0xffffff }).map((n) => `#${n.toString(16).padStart(6, '0')}`);

test('whatever colour a team has, text in it can be read in both schemes', () => {
  assert.ok(Math.abs(contrast('#000000', '#ffffff') - 21) < 1e-9);
  fc.assert(
    fc.property(hex, (colour) => {
      const { light, dark } = accentOf(colour);
      for (const behind of [grounds.light, cards.light]) assert.ok(contrast(light, behind) >= 4.5);
      for (const behind of [grounds.dark, cards.dark]) assert.ok(contrast(dark, behind) >= 4.5);
      // A button's words are the ground's colour on it.
      assert.match(light, /^#[0-9a-f]{6}$/);
    }),
  );
});

test('a colour that can be read already stays as it is', () => {
  fc.assert(
    fc.property(hex, (colour) => {
      if ([grounds.light, cards.light].every((g) => contrast(colour, g) >= 4.6)) assert.equal(accentOf(colour).light, colour);
      if ([grounds.dark, cards.dark].every((g) => contrast(colour, g) >= 4.6)) assert.equal(accentOf(colour).dark, colour);
    }),
  );
});
