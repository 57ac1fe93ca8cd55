import assert from 'node:assert/strict';
import { test } from 'node:test';
import { contract } from '../index.ts';
import { losses } from '../outcomes.ts';

/** Secrets that live for an hour at most, that open nothing here, or that a caller without a session gets. */
const passing = new Set([
  'acceptInvitation',
  'createJoinToken',
  'createRegistryLogin',
  'createWebhook',
  'exchangeRegistryOidcToken',
  'rotateWebhookSecret',
]);

test('a session proves itself again before it makes a lasting secret, or destroys what cannot be made again', () => {
  for (const op of contract) {
    const isDangerous = (op.secret && !passing.has(op.id)) || losses[op.id]?.forGood;
    if (isDangerous && !op.fresh && !op.session && op.permission !== 'none')
      assert.fail(`${op.id} is dangerous: mark it \`fresh\`, or name it in \`passing\` with a reason`);
    assert.ok(!(op.fresh && op.permission === 'none'), `${op.id} is for callers without a session`);
    assert.ok(!(op.session && !op.personal), `${op.id}: what only a person may do is about that person`);
  }
});

/** Takes a right away again, or gives none. */
const passingChanges = new Set(['deleteInvitation', 'acceptInvitation', 'deleteToken']);

test('a session proves itself again before it changes who may do what', () => {
  const changes = contract.filter(
    ({ method, path, id }) =>
      method !== 'GET' && /^\/(iam|tokens|organization\/(members|invitations|security))\b/.test(path) && !passingChanges.has(id),
  );
  assert.ok(changes.length >= 10, 'the walk finds the operations');
  for (const { id, fresh } of changes)
    assert.ok(fresh, `${id} changes who may do what: mark it \`fresh\`, or name it in \`passingChanges\``);
});
