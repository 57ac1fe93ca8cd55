import assert from 'node:assert/strict';
import { test } from 'node:test';
import { exitCodes, Failure } from '../exit.ts';
import { followEvents } from '../live.ts';

const output = (width?: number) => {
  const lines: string[] = [];
  const out = {
    isTTY: width !== undefined,
    columns: width,
    write: (text: string) => lines.push(text) > 0,
  } as unknown as NodeJS.WriteStream;
  return { lines, out };
};
const event = (name: string, data: unknown) => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`;
const refused = event('refused', { status: 401, code: 'unauthenticated', error: 'the token is revoked\u001b[2J' });

test('each hint is a line; a server that stops or breaks off is asked again, and a refusal ends it', async (t) => {
  const told = t.mock.method(console, 'error', () => {});
  const { lines, out } = output(80);
  const answers: (() => Response)[] = [
    () =>
      new Response(
        `${event('hello', { kinds: ['a.b'] })}: beat\n\n${event('changed', { kinds: ['a.b', 'c.d\u001b[2J'] })}${event('bye', { retryAfterMs: 1 })}`,
      ),
    () => new Response(event('deaf', {})),
    () => {
      throw new Failure(exitCodes.unavailable, 'no answer');
    },
    () => new Response(refused),
  ];
  await assert.rejects(followEvents({ ask: async () => answers.shift()!(), out, pauseMs: 0 }), (error: Failure) => {
    assert.equal(error.exitCode, exitCodes.unauthenticated);
    assert.match(error.message, /^the token is revoked\\x1b\[2J$/);
    return true;
  });
  assert.deepEqual(
    lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, '')),
    ['hello a.b\n', 'changed a.b c.d\\x1b[2J\n', 'deaf\n'],
  );
  assert.deepEqual(
    told.mock.calls.map(({ arguments: [text] }) => text),
    [
      'the server stops; coming back in 1 s. Hints of the time between are missing',
      'the stream broke off; coming back in 0 s. Hints of the time between are missing',
      'no answer; asking again',
    ],
  );
});

test('programs read each event as a line of JSON', async () => {
  const { lines, out } = output();
  const ask = async () => new Response(`${event('changed', { kinds: ['a.b'] })}${refused}`);
  await assert.rejects(followEvents({ ask, out, json: true, pauseMs: 0 }), Failure);
  assert.deepEqual(
    lines.map((line) => JSON.parse(line)),
    [{ name: 'changed', data: { kinds: ['a.b'] } }],
  );
});

test('a server that cannot be asked at first is an error, not a reason to wait', async () => {
  const ask = async () => {
    throw new Failure(exitCodes.unavailable, 'no answer');
  };
  await assert.rejects(followEvents({ ask, pauseMs: 0 }), /no answer/);
});
