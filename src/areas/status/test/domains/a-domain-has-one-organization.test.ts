import assert from 'node:assert/strict';
import { request } from 'node:http';
import { test } from 'node:test';
import Type from 'typebox';
import { fakeDns } from '../../../../../test/fakes/dns.ts';
import { type Caller, quarterdeck } from '../../../../../test/harness/index.ts';
import { rows, run } from '../../../../kernel/db/index.ts';
import { eventually, page, service } from '../support.ts';

const domain = 'status.acme.example';

test('a domain is of one organization, and another gets it only by a proof of its owner', async (t) => {
  const dns = await fakeDns(t, { 'qd.example.com': { A: ['127.0.0.1'] }, [domain]: { CNAME: ['qd.example.com'] } });
  const env = { QUARTERDECK_PUBLIC_URL: 'https://qd.example.com', QUARTERDECK_DNS_SERVERS: dns.address };
  const qd = await quarterdeck(t, { env });
  const [acme, thief] = [qd.owner, await qd.organization('thief')];
  const statusOf = async (by: Caller, slug: string) => (await by.get(`/status-pages/${slug}`)).body;
  const becomes = (by: Caller, slug: string, state: string) =>
    eventually(async () => {
      const found = await statusOf(by, slug);
      return found.customDomainStatus.state === state && found.customDomainStatus;
    });
  const titleAt = (title: string) => eventually(async () => (await fetchAt(qd.url, domain)).includes(`<h1>${title}</h1>`));

  await page(acme, 'acme', [(await service(acme, 'shop')).id], { customDomain: domain });
  await becomes(acme, 'acme', 'verified');
  await titleAt('Acme');

  // The alias alone is no proof for another organization, neither now nor after the first has gone.
  const stolen = await page(thief, 'stolen', [(await service(thief, 'trap')).id], { title: 'Trap', customDomain: domain });
  const proof = stolen.customDomainStatus.records[1];
  assert.deepEqual([proof.type, proof.name], ['TXT', `_quarterdeck.${domain}`]);
  const waits = () =>
    eventually(async () => {
      const { state, records } = (await statusOf(thief, 'stolen')).customDomainStatus;
      return state === 'pending' && records[0].outcome === 'found' && records[1].outcome === 'missing';
    });
  await waits();
  await titleAt('Acme');
  assert.equal((await acme.patch('/status-pages/acme', { customDomain: null })).status, 200);
  await qd.clock.advance('1m');
  await qd.perform({ name: 'status.check-domains' });
  await waits();
  assert.ok(!(await fetchAt(qd.url, domain)).includes('Trap'));

  // Its owner comes back without a proof while nobody else has it verified, but another claims it: whose it is must be proven.
  const back = await acme.patch('/status-pages/acme', { customDomain: domain });
  const mine = back.body.customDomainStatus.records[1];
  assert.notEqual(mine.value, proof.value);
  dns.zone[mine.name] = { TXT: [mine.value] };
  await qd.clock.advance('1m');
  await becomes(acme, 'acme', 'verified');
  await titleAt('Acme');

  // A proof of the other organization outweighs it.
  dns.zone[mine.name] = { TXT: [proof.value, 'unrelated'] };
  await qd.clock.advance('1m');
  await becomes(thief, 'stolen', 'verified');
  await titleAt('Trap');
  const lost = await statusOf(acme, 'acme');
  assert.equal(lost.customDomainStatus.state, 'failed');
  const { body } = await acme.get('/organization/audit');
  assert.ok(
    body.entries.some((entry: { action: string }) => entry.action === 'status.page.domain-lost'),
    JSON.stringify(body).slice(0, 300),
  );
});

test('an organization is remembered for so many names that it has given up', async (t) => {
  const dns = await fakeDns(t, { 'qd.example.com': { A: ['127.0.0.1'] }, [domain]: { CNAME: ['qd.example.com'] } });
  const env = { QUARTERDECK_PUBLIC_URL: 'https://qd.example.com', QUARTERDECK_DNS_SERVERS: dns.address };
  const { app, owner } = await quarterdeck(t, { env });
  await app.db.write(
    (tx) => run(tx)`
    insert into status.domain_owner (name, org_id, verified_at)
    select 'n' || n || '.example.com', case when n <= 1500 then ${owner.orgId} else 'org_other' end, kernel.now() - n * interval '1 minute'
      from generate_series(1, 1600) n`,
  );
  await page(owner, 'acme', [(await service(owner, 'shop')).id], { customDomain: domain });
  await eventually(async () => (await owner.get('/status-pages/acme')).body.customDomainStatus.state === 'verified');
  const OwnerRow = Type.Object({ org: Type.String(), n: Type.Integer(), newest: Type.Boolean() });
  const left = await app.db.read(
    (tx) => rows(tx, OwnerRow)`
    select case when org_id = ${owner.orgId} then 'own' else 'other' end as org, count(*)::int as n, bool_or(name in ('n1.example.com', 'n1501.example.com')) as newest
      from status.domain_owner group by 1 order by 1`,
  );
  assert.deepEqual(left, [
    { org: 'other', n: 100, newest: true },
    { org: 'own', n: 1_001, newest: true },
  ]);
});

async function fetchAt(url: string, host: string): Promise<string> {
  return new Promise((resolve, reject) => {
    request(`${url}/`, { headers: { host }, agent: false }, (response) => {
      let text = '';
      response
        .setEncoding('utf8')
        .on('data', (part) => (text += part))
        .on('end', () => resolve(text));
    })
      .on('error', reject)
      .end();
  });
}

test('a domain that does not lead here any more is let go, after a day and three looks', async (t) => {
  const dns = await fakeDns(t, { 'qd.example.com': { A: ['127.0.0.1'], AAAA: [] }, 'acme.example': { A: ['127.0.0.1'] } });
  const env = { QUARTERDECK_PUBLIC_URL: 'https://qd.example.com', QUARTERDECK_DNS_SERVERS: dns.address };
  const { owner, clock, perform } = await quarterdeck(t, { env });
  await page(owner, 'acme', [(await service(owner, 'shop')).id], { customDomain: 'acme.example' });
  const state = async () => (await owner.get('/status-pages/acme')).body.customDomainStatus.state;
  const look = async (by: string) => {
    await clock.advance(by);
    await perform({ name: 'status.check-domains' });
  };
  // A domain's own name can have no alias: its addresses are compared with ours.
  await eventually(async () => (await state()) === 'verified');
  dns.zone['acme.example'] = { A: ['192.0.2.7'] };
  for (const by of ['7h', '7h', '7h']) {
    await look(by);
    assert.equal(await state(), 'verified');
  }
  dns.zone['acme.example'] = 'servfail';
  await look('7h');
  assert.equal(await state(), 'verified', 'an answer that does not come is no miss');
  dns.zone['acme.example'] = {};
  await look('7h');
  assert.equal(await state(), 'failed');
  dns.zone['acme.example'] = { A: ['127.0.0.1'] };
  await look('7h');
  assert.equal(await state(), 'verified', 'it is still looked at');
});

test('a domain that cannot be one is refused with a sentence', async (t) => {
  const { owner } = await quarterdeck(t, {
    env: {
      QUARTERDECK_PUBLIC_URL: 'https://qd.example.com',
      QUARTERDECK_MAIL_HOST: 'mail.example.com',
      QUARTERDECK_CLUSTER_DOMAIN: 'k8s.example.com',
    },
  });
  const { id } = await service(owner, 'shop');
  await page(owner, 'one', [id], { customDomain: 'one.example.org' });
  await page(owner, 'two', [id]);
  const set = (customDomain: unknown) => owner.patch('/status-pages/two', { customDomain });
  for (const [name, status, sentence] of [
    ['localhost', 400, /is no name that the DNS could lead here/],
    ['127.0.0.1', 400, /is no name that the DNS could lead here/],
    ['a..example.com', 400, /is no name that the DNS could lead here/],
    ['wild.*.example.com', 400, /customDomain/],
    ['bücher.example', 400, /customDomain/],
    ['qd.example.com', 400, /is a name of this server itself/],
    ['MAIL.example.com', 400, /is a name of this server itself/],
    ['x.k8s.example.com', 400, /is a name of this server itself/],
    ['One.Example.org', 409, /another status page of the organization has the domain one\.example\.org/],
  ] as const) {
    const refused = await set(name);
    assert.equal(refused.status, status, name);
    assert.match(refused.body.error, sentence);
  }
  const beside = await set('status.example.com');
  assert.equal(
    beside.body.customDomainStatus.records[1].type,
    'TXT',
    'a name beside our own could be an alias that is meant for other things',
  );
  assert.equal((await set(null)).status, 200);
  const none = await owner.post('/status-pages/two/check-domain');
  assert.deepEqual([none.status, none.body.error], [409, 'the status page has no domain of its own; set customDomain first']);
  assert.equal((await set('two.example.org')).status, 200);
  assert.equal((await set('two.example.org')).body.customDomain, 'two.example.org');
});
