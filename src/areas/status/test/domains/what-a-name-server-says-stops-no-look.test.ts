import assert from 'node:assert/strict';
import { test } from 'node:test';
import { fakeDns } from '../../../../../test/fakes/dns.ts';
import { type Caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { run } from '../../../../kernel/db/index.ts';
import { eventually, page, service } from '../support.ts';

const domain = 'status.acme.example';

test('what a name server says of a domain is shown, also what no column holds', async (t) => {
  const dns = await fakeDns(t, {
    'qd.example.com': { A: ['127.0.0.1'] },
    [domain]: { CNAME: ['a\0b.elsewhere.example'] },
    // NUL, and half of a surrogate pair where the text is cut.
    [`_quarterdeck.${domain}`]: { TXT: ['x\0y', `${'x'.repeat(293)}🚢 and more`] },
  });
  const env = { QUARTERDECK_PUBLIC_URL: 'https://qd.example.com', QUARTERDECK_DNS_SERVERS: dns.address };
  const qd = await quarterdeck(t, { env });
  const [acme, other] = [qd.owner, await qd.organization('other')];
  await page(acme, 'first', [(await service(acme, 'shop')).id], { customDomain: domain });
  await page(other, 'second', [(await service(other, 'shop')).id], { customDomain: domain });
  const records = async (by: Caller, slug: string) => (await by.get(`/status-pages/${slug}`)).body.customDomainStatus.records;
  const found = await eventually(async () => {
    const all = await records(other, 'second');
    return all.every(({ outcome }: { outcome: string }) => outcome === 'mismatch') && all;
  });
  assert.deepEqual(
    found.map(({ observed }: { observed: string }) => observed),
    ['CNAME a b.elsewhere.example', `x y | ${'x'.repeat(293)} …`],
  );
});

test('a domain that cannot be settled keeps no other from its look', async (t) => {
  const names = ['broken.acme.example', 'fine.acme.example'];
  const dns = await fakeDns(t, {
    'qd.example.com': { A: ['127.0.0.1'] },
    ...Object.fromEntries(names.map((name) => [name, { CNAME: ['qd.example.com'] }])),
  });
  const env = { QUARTERDECK_PUBLIC_URL: 'https://qd.example.com', QUARTERDECK_DNS_SERVERS: dns.address, QUARTERDECK_ROLES: 'api' };
  const { app, owner, perform } = await quarterdeck(t, { env });
  await app.db.write(async (tx) => {
    await run(tx)`create function status.broken() returns trigger language plpgsql as $$ begin raise 'a damaged row'; end $$`;
    await run(
      tx,
    )`create trigger broken before update on status.domain for each row when (new.state = 'verified' and new.name like 'broken%')
                  execute function status.broken()`;
  });
  const { id } = await service(owner, 'shop');
  for (const [n, name] of names.entries()) await page(owner, `page-${n}`, [id], { customDomain: name });
  await perform({ name: 'status.check-domains' });
  const found = await Promise.all(names.map(async (_, n) => (await owner.get(`/status-pages/page-${n}`)).body.customDomainStatus));
  assert.deepEqual(
    found.map(({ state, checkedAt }) => [state, checkedAt !== undefined]),
    [
      ['pending', true],
      ['verified', true],
    ],
  );
});
