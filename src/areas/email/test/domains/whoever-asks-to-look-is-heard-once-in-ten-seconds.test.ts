import assert from 'node:assert/strict';
import { test } from 'node:test';
import { checkDueDomains } from '../../engine/domains/check-due.ts';
import { withDns } from './published.ts';

test('whoever asks to look is heard once in ten seconds', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const { owner } = qd;
  const { id } = (await owner.post('/email/domains', { name: 'example.com' })).body;
  const check = () => qd.perform({ name: 'email.check-domains' });
  const looks = () => dns.asked.filter((asked) => asked === 'udp MX bounce.example.com').length;
  await check();
  assert.equal(looks(), 1);
  for (let i = 0; i < 5; i++) assert.equal((await owner.post(`/email/domains/${id}/check`)).status, 202);
  await check();
  assert.equal(looks(), 1, 'not so soon after the last one');
  await qd.clock.advance('10s');
  await check();
  await check();
  assert.equal(looks(), 2);
});

test('who asks while somebody looks is not lost', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const { owner, app } = qd;
  const { id } = (await owner.post('/email/domains', { name: 'example.com' })).body;
  await qd.perform({ name: 'email.check-domains' });
  await qd.clock.advance('15s');
  const looks = () => dns.asked.filter((asked) => asked === 'udp MX bounce.example.com').length;
  let asked = 0;
  // In the middle of a look: the domain is deleted under it, and another one is made of the same name.
  const lookupAtSource: typeof app.dns.lookupAtSource = async (...of) => {
    if (!asked++) {
      await owner.delete(`/email/domains/${id}`);
      await owner.post('/email/domains', { name: 'example.com' });
    }
    return app.dns.lookupAtSource(...of);
  };
  const before = looks();
  await checkDueDomains({ ...app, dns: { ...app.dns, lookupAtSource } }, AbortSignal.timeout(20_000), app.log);
  assert.equal(looks() - before, 2, 'the old one, whose result counts for nothing, and the new one');
  const { body } = await owner.get('/email/domains');
  assert.deepEqual(
    body.domains.map((d: { sendState: string }) => d.sendState),
    ['pending'],
  );
});
