import assert from 'node:assert/strict';
import { test } from 'node:test';
import { confirmLoss, type Losing } from '../confirm.ts';
import type { Failure } from '../exit.ts';

const webhook: Losing = {
  word: 'webhook',
  what: { id: 'whk_1', name: 'https://example.com/\u001b[2J\u202e' },
  loses: 'its signing secret',
  forGood: false,
  verb: 'delete',
};
const cluster: Losing = { word: 'cluster', what: { id: 'dev' }, loses: 'its control plane', forGood: true, verb: 'delete' };

/** What is asked, and whether it went on. */
async function ask(losing: Losing, typed: string, { isTerminal = true, isSure = false } = {}) {
  let asked = '';
  const prompt = {
    isTerminal,
    ask: async (question: string) => {
      asked = question;
      return typed;
    },
  };
  const ended = await confirmLoss(losing, isSure, prompt).then(
    () => 'went on',
    (error: Failure) => error.message,
  );
  return { asked, ended };
}

test('on a terminal a person says yes, or types the name of what cannot come back', async () => {
  const { asked, ended } = await ask(webhook, 'y');
  assert.equal(ended, 'went on');
  assert.equal(asked, 'This loses its signing secret. Delete webhook https://example.com/\\x1b[2J\\u202e (whk_1)? [y/N] ');
  for (const typed of ['', 'n', 'yup', 'whk_1']) assert.equal((await ask(webhook, typed)).ended, 'nothing was changed', typed);

  assert.equal(
    (await ask(cluster, 'dev')).asked,
    'This loses its control plane. The cluster dev cannot come back.\nType dev to delete it: ',
  );
  assert.equal((await ask(cluster, ' dev ')).ended, 'went on');
  for (const typed of ['', 'y', 'de', 'DEV']) assert.equal((await ask(cluster, typed)).ended, 'nothing was changed', typed);
});

test('--yes asks nothing, and a script needs it only for what cannot come back', async () => {
  assert.deepEqual(await ask(cluster, '', { isSure: true }), { asked: '', ended: 'went on' });
  assert.deepEqual(await ask(webhook, '', { isTerminal: false }), { asked: '', ended: 'went on' });
  const { asked, ended } = await ask(cluster, '', { isTerminal: false });
  assert.deepEqual(
    [asked, ended],
    ['', 'this loses its control plane, and cluster dev cannot come back; say --yes to delete it without a question'],
  );
});
