import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { App } from '../../../../../kernel/app.ts';
import { checkDueDomains } from '../../engine/check-due.ts';
import { publish, withDns } from './published.ts';

test('requested checks run at most every ten seconds', async (t) => {
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

/** A DNS that runs a callback during the first check. */
const meanwhile = (app: App, act: () => Promise<unknown>): App => {
  let isFirst = true;
  const lookupAtSource: App['dns']['lookupAtSource'] = async (...of) => {
    if (isFirst) {
      isFirst = false;
      await act();
    }
    return app.dns.lookupAtSource(...of);
  };
  return { ...app, dns: { ...app.dns, lookupAtSource } };
};

test('a request during a check is not lost', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const { owner, app } = qd;
  const { id } = (await owner.post('/email/domains', { name: 'example.com' })).body;
  const looks = () => dns.asked.filter((asked) => asked === 'udp MX bounce.example.com').length;
  await qd.perform({ name: 'email.check-domains' });
  for (let i = 0; i < 10; i++) {
    await qd.clock.advance('1h');
    await qd.perform({ name: 'email.check-domains' });
  }
  await qd.clock.advance('1h');
  const before = looks();
  const check = (by: App) => checkDueDomains(by, AbortSignal.timeout(20_000), app.log);
  await check(meanwhile(app, () => owner.post(`/email/domains/${id}/check`)));
  assert.equal(looks() - before, 1);
  await qd.clock.advance('10s');
  await check(app);
  assert.equal(looks() - before, 2, 'ten seconds later, not an hour');
});

test('the result of a check counts for nothing once the domain is deleted', async (t) => {
  const { qd, dns } = await withDns(t, { QUARTERDECK_ROLES: 'api' });
  const { owner, app } = qd;
  const first = (await owner.post('/email/domains', { name: 'example.com' })).body;
  publish(dns, first.dnsRecords);
  const replaced = meanwhile(app, async () => {
    await owner.delete(`/email/domains/${first.id}`);
    await owner.post('/email/domains', { name: 'example.com' });
  });
  await checkDueDomains(replaced, AbortSignal.timeout(20_000), app.log);
  const { body } = await owner.get('/email/domains');
  assert.deepEqual(
    body.domains.map((d: { sendState: string }) => d.sendState),
    ['pending'],
  );
});
