import assert from 'node:assert/strict';
import { test } from 'node:test';
import tls from 'node:tls';
import { openAccountKey } from '../../../src/areas/certificates/clients/acme/index.ts';
import { signRequest } from '../../../src/areas/certificates/clients/acme/signing.ts';
import { type AuthorityRow, findAuthority } from '../../../src/areas/certificates/store/authorities.ts';
import { askForOrder, authorityBecomes, becomes, isIssued } from '../../../src/areas/certificates/test/support.ts';
import { page, service } from '../../../src/areas/status/test/support.ts';
import type { App } from '../../../src/kernel/app.ts';
import { fakeDns } from '../../fakes/dns.ts';
import { freePort } from '../../harness/free-port.ts';
import { quarterdeck } from '../../harness/index.ts';
import { scratch } from '../../harness/process.ts';
import { blockedHost, issuedBy, pebble } from './pebble-support.ts';

const host = 'qd.example.com';
const domain = 'status.acme.example';

const accountOf = (app: App): Promise<AuthorityRow> => app.db.read(async (tx) => (await findAuthority(tx, app.config.acme_directory))!);

/** As its owner would elsewhere, with the same key. */
async function deactivate(app: App): Promise<void> {
  const directory = app.config.acme_directory;
  const row = await accountOf(app);
  const key = await openAccountKey(app.secrets.unseal(row.account_key, `certificates.authority.account_key.${directory}`));
  const { newNonce } = (await (await fetch(directory)).json()) as { newNonce: string };
  const url = row.account_url!;
  const ask = async () => {
    const nonce = (await fetch(newNonce, { method: 'HEAD' })).headers.get('replay-nonce')!;
    const body = JSON.stringify(await signRequest(key, { url, nonce, kid: url }, { status: 'deactivated' }));
    return fetch(url, { method: 'POST', body, headers: { 'content-type': 'application/jose+json' } });
  };
  let answer = await ask();
  for (let tries = 0; answer.status === 400 && tries < 20; tries++) answer = await ask(); // it refuses every third nonce
  assert.equal(answer.status, 200, await answer.text());
}

test('Pebble asks for an account of its own, certifies a page’s domain, refuses a name, and ends and forgets our account', async (t) => {
  const { dir } = await scratch(t);
  const ports = { http: await freePort(), tls: await freePort() };
  const here = { A: ['127.0.0.1'], AAAA: [] };
  const dns = await fakeDns(t, { [host]: here, [blockedHost]: here });
  const external = { kid: 'customer-1', hmac: Buffer.alloc(32, 7).toString('base64url') };
  const authority = await pebble(t, { dir, dns, ports, external: { [external.kid]: external.hmac } });
  tls.setDefaultCACertificates([...tls.getCACertificates('default'), authority.ca]);
  const env = {
    QUARTERDECK_ACME: 'operator@example.com',
    QUARTERDECK_ACME_DIRECTORY: authority.directory,
    QUARTERDECK_PUBLIC_URL: `https://${host}`,
    QUARTERDECK_MAIL_HOST: blockedHost,
    QUARTERDECK_LISTEN: `127.0.0.1:${ports.tls}`,
    QUARTERDECK_HTTP_LISTEN: `127.0.0.1:${ports.http}`,
    QUARTERDECK_DNS_SERVERS: dns.address,
  };
  const { connection, dataDir } = await quarterdeck(t, { env: { QUARTERDECK_ROLES: 'api' } }); // keeps the database
  const unbound = await quarterdeck(t, { connection, dataDir, env });
  const refused = await authorityBecomes(unbound.app, ({ failures }) => failures === 1);
  assert.match(refused.last_error!, /asks for an account of its own; set QUARTERDECK_ACME_EAB_KID and QUARTERDECK_ACME_EAB_HMAC/);
  await unbound.stop();

  const bound = { ...env, QUARTERDECK_ACME_EAB_KID: external.kid, QUARTERDECK_ACME_EAB_HMAC: external.hmac };
  const { app, owner, clock } = await quarterdeck(t, { connection, dataDir, env: bound });
  await clock.advance('2m');
  let issued = await issuedBy(ports.tls, host);
  const blocked = await becomes(app, blockedHost, ({ failures }) => failures > 0);
  assert.match(blocked.last_error!, /the authority refuses: .*policy/i);

  await page(owner, 'acme', [(await service(owner, 'shop')).id], { customDomain: domain });
  dns.zone[domain] = { CNAME: [host], ...here };
  await clock.advance('1m');
  await issuedBy(ports.tls, domain);
  await becomes(app, host, isIssued);

  for (const end of [() => deactivate(app), () => authority.restart()]) {
    const before = await accountOf(app);
    await end();
    await askForOrder(app, host);
    await authorityBecomes(app, (row) => row.failures > 0 && !row.account_key.equals(before.account_key));
    await clock.advance('10m');
    issued = await issuedBy(ports.tls, host, issued);
    await becomes(app, host, isIssued);
    assert.equal((await accountOf(app)).last_error, null);
  }
});
