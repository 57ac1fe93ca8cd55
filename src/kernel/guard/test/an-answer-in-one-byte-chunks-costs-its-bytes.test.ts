// alone: it measures what the process holds in memory
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertCostsItsBytes, oneByteServer } from '../../../../test/harness/one-byte-chunks.ts';
import { type GuardResponse, makeGuard, parseAllow } from '../index.ts';

const guard = makeGuard({ allow: parseAllow('127.0.0.0/8') });
const timeouts = { headersMs: 120_000, idleMs: 120_000, totalMs: 120_000 };
const body = JSON.stringify({ text: 'a'.repeat(59_000) });

const readers: Record<string, (response: GuardResponse) => Promise<unknown>> = {
  bytes: async (response) => String(await response.bytes()),
  text: (response) => response.text(),
  json: async (response) => JSON.stringify(await response.json()),
  firstBytes: async (response) => String(await response.firstBytes(body.length + 1)),
};

for (const [name, read] of Object.entries(readers)) {
  test(`what ${name}() gathers costs its bytes`, async (t) => {
    const server = await oneByteServer(t, body);
    const answers: Promise<unknown>[] = [];
    const ask = async () => read(await guard.fetch('uptime', server.url, { timeouts }));
    const kept = await server.kept(2, () => answers.push(ask(), ask()));
    server.finish();
    assert.deepEqual(await Promise.all(answers), [body, body]);
    assertCostsItsBytes(kept, 2 * body.length);
  });
}

test('an unread response costs its bytes, and is complete when it is read', async (t) => {
  const server = await oneByteServer(t, body);
  let answer: Promise<GuardResponse> | undefined;
  const ask = () => {
    answer = guard.fetch('uptime', server.url, { timeouts });
  };
  const kept = await server.kept(1, ask, { isUnread: true });
  server.finish();
  assert.equal(await (await answer!).text(), body);
  assertCostsItsBytes(kept, body.length);
});

test('the first bytes are no more than was asked for', async (t) => {
  const server = await oneByteServer(t, body);
  const answer = await guard.fetch('uptime', server.url, { timeouts });
  assert.equal(String(await answer.firstBytes(20_000)), body.slice(0, 20_000));
});
