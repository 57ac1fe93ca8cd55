import assert from 'node:assert/strict';
import { test } from 'node:test';
import { type Notice, withNotice, withoutSteering } from '../../console/data/notice-list.ts';

test('what went well pushes no failure out, and a sentence is said once', () => {
  let shown: readonly Notice[] = [];
  const say = (text: string, tone: Notice['tone']) => {
    shown = withNotice(shown, { id: shown.length, text, tone });
  };
  say('Not done: the incident is resolved', 'bad');
  for (let n = 0; n < 100; n++) say(`Acknowledged ${n}`, 'good');
  assert.deepEqual(
    shown.map(({ text }) => text),
    ['Not done: the incident is resolved', 'Acknowledged 97', 'Acknowledged 98', 'Acknowledged 99'],
  );
  for (let n = 0; n < 6; n++) say(`Not done: ${n}`, 'bad');
  assert.equal(shown.filter(({ tone }) => tone === 'bad').length, 7, 'a failure stays until it is closed');
  say('Not done: 0', 'bad');
  assert.equal(shown.length, 7);
});

test('a name turns no words of the sentence around it', () => {
  assert.equal(withoutSteering('Resolved “\u202eexe.\u2066cod”: done'), 'Resolved “exe.cod”: done');
});
