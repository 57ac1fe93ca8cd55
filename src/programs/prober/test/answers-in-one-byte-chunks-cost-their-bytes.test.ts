// alone: it measures what the process holds in memory
import assert from 'node:assert/strict';
import { test } from 'node:test';
import { assertCostsItsBytes, oneByteServer } from '../../../../test/harness/one-byte-chunks.ts';
import { parseAllow } from '../../../kernel/guard/index.ts';
import { checkHttp } from '../checks/check-http.ts';
import { proberGuard } from '../checks/guard.ts';
import { openLink } from '../delivery/link.ts';
import { httpTarget } from './support.ts';

test('a target’s answer costs its bytes, and is looked through to its end', async (t) => {
  const server = await oneByteServer(t, `${'a'.repeat(60_000)} all is well`);
  const guard = proberGuard({ allow: parseAllow('127.0.0.0/8') });
  const check = (text: string) =>
    checkHttp(guard, { target: httpTarget(server.url, { expectBodyContains: text }), timeoutMs: 60_000, userAgent: 'test' });

  const checks: ReturnType<typeof check>[] = [];
  const kept = await server.kept(2, () => checks.push(check('all is well'), check('all is lost')));
  server.finish();
  const [well, lost] = await Promise.all(checks);
  assert.equal(well!.outcome, 'pass');
  assert.deepEqual([lost!.outcome, lost!.errorKind, lost!.snippet], ['fail', 'body_mismatch', 'a'.repeat(1024)]);
  assertCostsItsBytes(kept, 120_000);
});

test('the server’s answer to a prober costs its bytes', async (t) => {
  const news = { cursor: '1', full: true, assignments: [], removed: [] };
  const server = await oneByteServer(t, JSON.stringify(news).padEnd(60_000), { 'content-type': 'application/json' });
  const link = openLink({ server: server.url, token: 'any' });
  t.after(() => link.close());

  let told: ReturnType<typeof link.assignments> | undefined;
  const ask = () => {
    told = link.assignments('00000000-0000-4000-8000-000000000000', undefined, new AbortController().signal);
  };
  const kept = await server.kept(1, ask);
  server.finish();
  assert.deepEqual(await told, { ...news, unknown: 0 });
  assertCostsItsBytes(kept, 60_000);
});
