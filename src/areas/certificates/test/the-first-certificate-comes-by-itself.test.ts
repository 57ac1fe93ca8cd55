import assert from 'node:assert/strict';
import { once } from 'node:events';
import type http from 'node:http';
import https from 'node:https';
import { test } from 'node:test';
import { quarterdeck } from '../../../../test/harness/index.ts';
import { acmeScene, becomes, isIssued, presentedBy, presentsIssued, publicHost } from './support.ts';

test('with an address and a public host, the first certificate comes by itself', async (t) => {
  const { authority, env, ports } = await acmeScene(t);
  let release = () => {};
  authority.manner.before = (what) => (what === 'new-order' ? new Promise((resolve) => (release = resolve)) : undefined);
  const qd = await quarterdeck(t, { env });

  // The start has not waited for the authority: TLS is there, with a certificate of the server's own.
  const before = await presentedBy(ports.tls, publicHost);
  assert.equal(before.subject, before.issuer);
  assert.ok(before.checkHost(publicHost));

  authority.manner.before = () => {};
  release();
  const row = await becomes(qd.app, publicHost, isIssued);
  assert.deepEqual(authority.looked, [`http-01 ${publicHost} valid`]);
  assert.equal(authority.orders.length, 1);
  assert.deepEqual(authority.accounts[0]!.contact, ['mailto:operator@example.com']);
  // Renewed at two thirds of its life.
  assert.equal(Date.parse(row.not_after!) - Date.parse(row.renew_at!), authority.manner.lifeMs / 3);

  // The next handshake has it, also without a name, and a client that trusts the authority is content.
  for (const name of [publicHost, undefined]) assert.ok((await presentsIssued(ports.tls, name)).checkHost(publicHost));
  const request = https.get({
    host: '127.0.0.1',
    port: ports.tls,
    path: '/healthz',
    servername: publicHost,
    ca: authority.root,
    agent: false,
  });
  const [response] = (await once(request, 'response')) as [http.IncomingMessage];
  assert.equal(response.statusCode, 200);
  response.resume();
});
