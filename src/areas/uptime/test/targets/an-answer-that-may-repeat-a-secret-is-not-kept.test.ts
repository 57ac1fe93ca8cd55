import assert from 'node:assert/strict';
import { test } from 'node:test';
import { run } from '../../../../kernel/db/index.ts';
import { desk, httpMonitor, made, tcpMonitor } from '../agent-context.ts';
import { everythingStored, wordsIn } from '../secrets-support.ts';
import { agent } from '../support.ts';

const base64 = (text: string) => Buffer.from(text).toString('base64');
const url = 'https://shop.example/health';

test('whatever a prober tells, also one of an earlier release, a failure keeps no answer to hidden values', async (t) => {
  const qd = await desk(t);
  const { owner, app, connection } = qd;
  const fra = await agent(qd, 'fra');
  const make = (body: Record<string, unknown>): Promise<{ id: string }> =>
    made(owner.post('/uptime/monitors', { ...body, vantages: ['fra'] }));
  const hiding = [
    await make(httpMonitor({ http: { url, headers: { 'X-Key': 's3cret' } } })),
    await make(httpMonitor({ http: { url: `${url}?s3cret` } })),
    await make(httpMonitor({ http: { url, method: 'POST', bodyBase64: base64('s3cret') } })),
    await make(tcpMonitor({ tcp: { host: 'db.example', port: 1, sendBase64: base64('s3cret'), expectPrefixBase64: base64('+OK') } })),
  ];
  const open = [
    await make(httpMonitor({ http: { url, expectBodyContains: 'ok' } })),
    await make(tcpMonitor({ tcp: { host: 'db.example', port: 1, expectPrefixBase64: base64('+OK') } })),
  ];
  const broken = await make(httpMonitor());
  await app.db.write((tx) => run(tx)`update uptime.monitor set sealed = 'damaged' where id = ${broken.id}`);

  const said = {
    outcome: 'fail' as const,
    errorKind: 'protocol',
    errorDetail: 'see https://me:l0gin@login.example/in?ticket=t1cket for more',
    snippet: 'no c3VjcmV0 at https://login.example/in?ticket=t1cket, s3cr',
  };
  await fra.report(...[...hiding, ...open, broken].map(({ id }) => ({ monitor: id, ...said })));
  const kept = async ({ id }: { id: string }) => {
    const [failure] = (await made(owner.get(`/uptime/monitors/${id}/failures`))).failures;
    return [failure.errorDetail, failure.responseSnippet];
  };
  for (const monitor of [...hiding, broken]) assert.deepEqual(await kept(monitor), ['see https://login.example/in for more', '']);
  for (const monitor of open)
    assert.deepEqual(await kept(monitor), ['see https://login.example/in for more', 'no c3VjcmV0 at https://login.example/in s3cr']);
  assert.deepEqual(wordsIn(await everythingStored(connection), ['t1cket', 'l0gin']), []);
});
