import assert from 'node:assert/strict';
import { execFile } from 'node:child_process';
import { once } from 'node:events';
import { writeFile } from 'node:fs/promises';
import http from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { test } from 'node:test';
import { promisify } from 'node:util';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { scratch } from '../../../../../test/harness/process.ts';
import { adminOf, askCertificate, joinNode, nodeKeys, nodeSubject, readyCluster } from '../support.ts';

test('a registration token admits nodes until it is disabled, expires or is revoked', async (t) => {
  const { owner, url, clock, anonymous } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const minted = await owner.post('/clusters/prod/registration-tokens', { name: 'pool a', expiresIn: 3600 });
  assert.equal(minted.status, 201, JSON.stringify(minted.body));
  const { id, token, cloudConfig, joinCommand } = minted.body;
  assert.match(token, /^qd_node_/);
  assert.match(cloudConfig, /^#cloud-config\n/);
  assert.ok(cloudConfig.includes(token) && joinCommand.includes(token) && joinCommand.includes(`${url}/join.sh`));

  const exchange = async (key: string | undefined) => {
    const answer = await fetch(`${url}/join/v1`, { method: 'POST', headers: key ? { authorization: `Bearer ${key}` } : {} });
    return { status: answer.status, body: (await answer.json()) as Record<string, string> };
  };
  const first = await exchange(token);
  assert.equal(first.status, 201, JSON.stringify(first.body));
  assert.equal(first.body.endpoint, new URL(admin.server).host);
  assert.ok(joinCommand.includes(first.body.caCertHash!));
  await joinNode(admin, first.body.joinToken!, 'worker-1');
  const { tokens } = (await owner.get('/clusters/prod/registration-tokens')).body;
  assert.equal(tokens.length, 1);
  assert.ok(tokens[0].lastUsed && tokens[0].expiresAt && tokens[0].disabled === false && !JSON.stringify(tokens).includes(token));

  // The script exchanges it and would call kubeadm with what it got; another authority than the pinned one is refused.
  const script = await (await fetch(`${url}/join.sh`)).text();
  const { dir } = await scratch(t);
  await writeFile(join(dir, 'join.sh'), script);
  const run = (hash: string) =>
    promisify(execFile)('sh', [join(dir, 'join.sh'), '--server', url, '--token', token, '--ca-cert-hash', hash, '--print'], {
      timeout: 20_000,
    });
  const { stdout } = await run(first.body.caCertHash!);
  assert.match(
    stdout,
    /^kubeadm join 127\.0\.0\.1:\d+ --token [a-z0-9]{6}\.[a-z0-9]{16} --discovery-token-ca-cert-hash sha256:[0-9a-f]{64}\n$/,
  );
  await assert.rejects(run(`sha256:${'0'.repeat(64)}`), /another authority/);

  // Disabled: neither it nor a join token that was made from it before admits anybody.
  const before = await exchange(token);
  assert.equal((await owner.patch(`/clusters/prod/registration-tokens/${id}`, { disabled: true })).status, 204);
  assert.equal((await exchange(token)).status, 401);
  const late = await askCertificate({ ...admin, token: before.body.joinToken! }, nodeKeys(nodeSubject('worker-2')));
  assert.ok('denied' in late, JSON.stringify(late));
  assert.equal((await owner.patch(`/clusters/prod/registration-tokens/${id}`, { disabled: false })).status, 204);
  assert.equal((await exchange(token)).status, 201);

  await clock.advance('2h');
  assert.equal((await exchange(token)).status, 401, 'expired');
  const other = (await owner.post('/clusters/prod/registration-tokens', { name: 'pool b' })).body;
  assert.equal((await exchange(other.token)).status, 201);
  assert.equal((await owner.delete(`/clusters/prod/registration-tokens/${other.id}`)).status, 204);
  assert.equal((await exchange(other.token)).status, 401, 'revoked');
  assert.equal((await owner.delete(`/clusters/prod/registration-tokens/${other.id}`)).status, 404);
  for (const bad of [undefined, 'qd_node_nonsense', owner.key]) assert.equal((await exchange(bad)).status, 401);
  assert.equal((await fetch(`${url}/join/v1`)).status, 405);
  assert.equal((await anonymous.get('/clusters/prod/registration-tokens')).status, 401);
});

test('a valid registration token authenticates its connection; a wrong one leaves it anonymous', async (t) => {
  const { owner, url } = await quarterdeck(t, { env: { QUARTERDECK_METRICS_TOKEN: 'scrape' } });
  await readyCluster(owner, { name: 'prod' });
  const { token } = (await owner.post('/clusters/prod/registration-tokens', { name: 'pool a' })).body;
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const ask = async (method: string, path: string, headers: Record<string, string> = {}) => {
    const [answer] = (await once(http.request(url + path, { method, agent, headers }).end(), 'response')) as [http.IncomingMessage];
    return { status: answer.statusCode, body: await text(answer) };
  };
  const exchange = async (key: string) => (await ask('POST', '/join/v1', { authorization: `Bearer ${key}` })).status;
  const anonymous = async () =>
    Number(
      /^quarterdeck_http_connections\{kind="anonymous"\} (\d+)$/m.exec(
        (await ask('GET', '/metrics', { authorization: 'Bearer scrape' })).body,
      )?.[1],
    );

  const before = await anonymous();
  assert.ok(before >= 1, 'this one');
  assert.equal(await exchange(`${token.slice(0, -1)}!`), 401);
  assert.equal(await anonymous(), before);
  assert.equal(await exchange(token), 201);
  assert.equal(await anonymous(), before - 1);
});
