import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exitCodes, Failure } from '../exit.ts';
import { redraw } from '../watch.ts';

const terminal = (isTTY: boolean) => {
  const written: string[] = [];
  return { written, out: { isTTY, write: (text: string) => written.push(text) > 0 } as unknown as NodeJS.WriteStream };
};

test('each answer is drawn over the one before, a server that is away ends nothing, and a refusal does', async (t) => {
  const told = t.mock.method(console, 'error', () => {});
  const { written, out } = terminal(true);
  const answers: (() => string)[] = [
    () => 'first',
    () => {
      throw new Failure(exitCodes.unavailable, 'no answer');
    },
    () => 'third',
    () => {
      throw new Failure(exitCodes.unauthenticated, 'revoked');
    },
  ];
  const drawn: string[] = [];
  const watching = redraw(
    async () => {
      return answers.shift()!();
    },
    (answer) => drawn.push(answer),
    { out, pauseMs: 0 },
  );
  await assert.rejects(watching, /revoked/);
  assert.deepEqual(drawn, ['first', 'third']);
  assert.deepEqual(told.mock.calls[0]!.arguments, ['no answer; asking again']);
  assert.deepEqual(written, Array(3).fill('\u001b[H\u001b[2J'));
});

test('without a terminal it is refused: a script would never end', async () => {
  await assert.rejects(
    redraw(
      async () => 1,
      () => assert.fail('drawn'),
      { out: terminal(false).out },
    ),
    /on a terminal/,
  );
});
