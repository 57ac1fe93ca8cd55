import assert from 'node:assert/strict';
import { randomUUID } from 'node:crypto';
import { test } from 'node:test';
import { gzipSync } from 'node:zlib';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { mintKey } from '../../../../identity/token-format.ts';
import { mostResults, paths } from '../../../../protocols/agent.ts';
import { agent, history, watched } from '../support.ts';

test('what is no batch is refused with a sentence, and nothing of it is stored', async (t) => {
  const qd = await quarterdeck(t);
  const { agents, monitor } = await watched(qd, ['tokyo']);
  const tokyo = agents[0]!;
  const good = { instance: tokyo.instance, seq: 1, now: 0, degraded: false, results: [] as unknown[] };
  const result = { monitor: monitor.id, epoch: 1, ageMs: 0, outcome: 'pass' };
  const refused = async (
    status: number,
    error: RegExp,
    body: unknown,
    headers?: Record<string, string>,
    path: string = paths.results,
    method = 'POST',
  ) => {
    const answer = await tokyo.ask(method, path, body, headers);
    assert.equal(answer.status, status, JSON.stringify(answer.body));
    assert.match(String(answer.body.error), error);
  };
  await refused(400, /seq is required/, { ...good, seq: undefined });
  await refused(400, /seq must be at least 1/, { ...good, seq: 0 });
  await refused(400, /seq must be at most 9007199254740991/, { ...good, seq: 2 ** 63 });
  await refused(400, /results must have at most 500/, { ...good, results: Array(mostResults + 1).fill(result) });
  await refused(400, /ageMs must be at least 0/, { ...good, results: [{ ...result, ageMs: -1 }] });
  await refused(400, /ageMs must be at most 86400000/, { ...good, results: [{ ...result, ageMs: 86_400_001 }] });
  await refused(400, /outcome/, { ...good, results: [{ ...result, outcome: 'maybe' }] });
  await refused(400, /NUL/, { ...good, results: [{ ...result, errorDetail: 'a\0b' }] });
  await refused(400, /snippet must have at most 1024/, { ...good, results: [{ ...result, snippet: 'x'.repeat(1025) }] });
  await refused(400, /instance is not written as it must be: \w/, { ...good, instance: 'me' });
  await refused(400, /not valid JSON/, new TextEncoder().encode('{'), { 'content-type': 'application/json' });
  await refused(400, /not valid gzip/, new TextEncoder().encode('{}'), { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  await refused(415, /application\/json/, new TextEncoder().encode('{}'), { 'content-type': 'text/plain' });
  await refused(415, /br is not understood/, new TextEncoder().encode('{}'), {
    'content-type': 'application/json',
    'content-encoding': 'br',
  });
  const bomb = gzipSync(Buffer.alloc(64 * 2 ** 20, 0x20));
  await refused(413, /larger than 8388608 bytes when unpacked/, bomb, { 'content-type': 'application/json', 'content-encoding': 'gzip' });
  await refused(413, /larger than 8388608 bytes/, Buffer.alloc(8 * 2 ** 20 + 1, 0x20), { 'content-type': 'application/json' });
  await refused(405, /asked with POST/, undefined, undefined, paths.results, 'GET');
  await refused(405, /asked with GET/, {}, undefined, paths.assignments);
  await refused(404, /there is no \/agent\/v1\/nothing/, {}, undefined, '/agent/v1/nothing');
  await refused(404, /there is no \/agent\/v2\/results/, {}, undefined, '/agent/v2/results');
  await refused(409, /no session/, { ...good, instance: randomUUID() });
  await refused(409, /no session/, undefined, undefined, `${paths.assignments}?instance=${randomUUID()}`, 'GET');
  await refused(400, /instance must be/, undefined, undefined, `${paths.assignments}?instance=x`, 'GET');
  const paris = await agent(qd, 'paris');
  const stolen = await paris.ask('POST', paths.session, { instance: tokyo.instance, version: '', now: 0 });
  assert.equal(stolen.status, 409, 'an instance stays with its vantage');

  for (const token of [undefined, 'nonsense', qd.owner.key, mintKey('agent').key]) {
    const answer = await tokyo.ask(
      'POST',
      paths.results,
      good,
      token === undefined ? { authorization: '' } : { authorization: `Bearer ${token}` },
    );
    assert.equal(answer.status, 401, String(token));
    assert.match(String(answer.body.error), /^unauthenticated: .*quarterdeck admin agents create/);
  }
  assert.equal((await history(qd, monitor)).results, 0);
  // Whatever its clock says is only shown to the operator.
  for (const now of [-1, 1e300, 1.5])
    assert.equal((await tokyo.ask('POST', paths.results, { ...good, seq: ++tokyo.seq, now })).status, 200);
  await tokyo.pass(monitor);
  assert.equal((await history(qd, monitor)).results, 1);
});
