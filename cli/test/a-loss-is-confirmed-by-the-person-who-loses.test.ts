import assert from 'node:assert/strict';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { confirmLoss, type Losing, terminalPrompt } from '../confirm.ts';
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
  assert.equal(asked, 'This loses its signing secret.\nDelete webhook https://example.com/\\x1b[2J\\u202e (whk_1)? [y/N] ');
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

/** What a terminal shows, and how the command ends, when these keys are pressed at the question. */
async function press(losing: Losing, keys: string) {
  const input = Object.assign(new PassThrough(), { isTTY: true });
  const output = Object.assign(new PassThrough(), { isTTY: true, columns: 80 });
  let shown = '';
  output.setEncoding('utf8').on('data', (text: string) => (shown += text));
  const asking = confirmLoss(losing, false, terminalPrompt(input, output)).then(
    () => ({ code: 0, sentence: 'went on' }),
    ({ exitCode, message }: Failure) => ({ code: exitCode, sentence: message }),
  );
  if (keys) input.write(keys);
  else input.end();
  const ended = await asking;
  // biome-ignore lint/suspicious/noControlCharactersInRegex: what readline draws with
  return { ...ended, shown: shown.replaceAll(/\u001b\[[0-9]*[A-Z]/g, '') };
}

test('Ctrl-C, Ctrl-D and the end of the input at the question change nothing, and leave the cursor on a new line', async () => {
  assert.deepEqual([(await press(cluster, 'dev\r')).code, (await press(webhook, 'y\r')).code], [0, 0]);
  const wide = await press({ ...cluster, loses: 'its control plane and everything stored in it' }, 'dev\r');
  assert.match(wide.shown, /^This loses .*\. The cluster dev cannot\ncome back\.\nType dev to delete it: /);
  const refused = await press(webhook, 'n\r');
  assert.deepEqual([refused.code, refused.sentence], [2, 'nothing was changed']);
  for (const losing of [cluster, webhook]) {
    const interrupted = await press(losing, '\u0003');
    assert.deepEqual([interrupted.code, interrupted.sentence], [130, 'interrupted: nothing was changed']);
    assert.ok(interrupted.shown.endsWith('\n'), JSON.stringify(interrupted.shown));
    for (const keys of ['\u0004', '']) {
      const { code, sentence, shown } = await press(losing, keys);
      assert.deepEqual([code, sentence], [2, 'nothing was changed']);
      assert.ok(shown.endsWith('\n'), JSON.stringify(shown));
    }
  }
});
