import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { readConfig } from '../../src/kernel/config.ts';
import { Stop } from '../../src/kernel/errors.ts';
import { fakeSmtp } from '../fakes/smtp.ts';
import { caller, quarterdeck } from '../harness/index.ts';
import { urlOf } from '../harness/postgres.ts';
import { eventually, type ServerProcess, scratch, serverProcess } from '../harness/process.ts';
import { startHere } from './start-here.ts';

// The control API in this process, everything else in processes of their own, on one database.

const text = async (url: string, path: string) => {
  const answer = await fetch(url + path);
  return { status: answer.status, code: answer.headers.get('x-error-code'), text: await answer.text() };
};

/** A server whose only role here is the control API, and how to start others beside it. */
async function house(t: TestContext, env: Record<string, string>) {
  const api = await quarterdeck(t, { env: { ...env, QUARTERDECK_ROLES: 'api' } });
  const { dir } = await scratch(t);
  const shared = {
    ...env,
    QUARTERDECK_DATABASE_URL: urlOf(api.connection),
    QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1',
    QUARTERDECK_PUBLIC_URL: api.url,
  };
  const beside = (roles: string): ServerProcess =>
    serverProcess(t, { dir, dataDir: api.dataDir, env: { ...shared, QUARTERDECK_ROLES: roles } });
  /** In this process: one of whom nothing is asked but what it does. */
  const here = (roles: string) => startHere(t, { dir, dataDir: api.dataDir, env: { ...shared, QUARTERDECK_ROLES: roles } });
  return { api, beside, here };
}

test('processes of different roles on one database are one product', async (t) => {
  const smtp = await fakeSmtp(t);
  const target = createServer((_request, response) => response.end('fine')).listen(0, '127.0.0.1');
  t.after(() => target.close());
  await once(target, 'listening');
  const { port } = target.address() as AddressInfo;
  const { api, beside, here } = await house(t, {
    QUARTERDECK_SMTP_RELAY: smtp.url,
    QUARTERDECK_ALLOW_PRIVATE_CIDRS: '127.0.0.0/8',
    QUARTERDECK_UPTIME_INTERVALS: '5,60',
  });
  const processes = { registry: beside('registry'), worker: beside('worker'), prober: beside('prober') };
  const urls = {
    api: api.url,
    registry: await processes.registry.ready,
    worker: await processes.worker.ready,
    prober: await processes.prober.ready,
  };

  // Each says what it runs.
  for (const [role, url] of Object.entries(urls))
    assert.deepEqual(await text(url, '/readyz'), { status: 200, code: null, text: `ready: ${role}\n` });
  assert.match(processes.worker.stdout(), /Runs: {2}worker\n/);

  // The registry is where its role is; elsewhere a sentence says so, in the words that registry clients show.
  assert.equal((await text(urls.registry, '/v2/')).status, 401);
  const elsewhere = await text(urls.api, '/v2/');
  assert.equal(elsewhere.status, 404);
  assert.match(JSON.parse(elsewhere.text).errors[0].message, /served by a process with the role registry; this one runs api\./);
  assert.equal((await text(urls.worker, '/token?service=x')).status, 404);

  // So is the control API, with everything that belongs to it.
  for (const path of ['/api/v1/me', '/docs', '/status/page', '/agent/v1/session']) {
    const found = await text(urls.registry, path);
    assert.equal(found.status, 404, path);
    assert.match(
      found.text,
      path.startsWith('/status/') ? /role api/ : /"this is served by a process with the role api; this one runs registry\./,
    );
  }
  assert.equal((await caller(urls.api, api.owner.key).get('/me')).status, 200);
  const broken = await fetch(`${urls.worker}/api/v1/tokens`, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: '{',
  });
  assert.deepEqual([broken.status, broken.headers.get('x-error-code')], [404, 'served_elsewhere'], 'whatever comes with it');

  // What the API's process takes in, the worker sends, and the prober checks.
  const { id } = (await api.owner.post('/oncall/services', { name: 'shop' })).body;
  const step = { target: { kind: 'user', id: api.owner.userId, label: '' }, waitSeconds: 60 };
  const policy = await api.owner.post('/oncall/escalation-policies', { name: 'everybody', repeat: 0, steps: [step] });
  assert.equal(policy.status, 201, JSON.stringify(policy.body));
  assert.equal((await api.owner.put(`/oncall/services/${id}`, { escalationPolicyId: policy.body.id })).status, 200);
  assert.equal((await api.owner.post('/oncall/incidents', { serviceId: id, title: 'first' })).status, 201);
  await eventually(async () => smtp.received.some((mail) => mail.data.includes('first')));
  assert.ok(smtp.received[0]!.data.includes(`${api.url}/oncall/ack/`), 'links lead to the API, whoever sends them');
  const monitor = await api.owner.post('/uptime/monitors', {
    name: 'shop',
    serviceId: id,
    kind: 'http',
    intervalSeconds: 5,
    timeoutMs: 2_000,
    vantages: ['local'],
    http: { url: `http://127.0.0.1:${port}/` },
  });
  assert.equal(monitor.status, 201, JSON.stringify(monitor.body));
  await eventually(async () => (await api.owner.get(`/uptime/monitors/${monitor.body.id}`)).body.state === 'up');

  // Without a worker nothing is sent; with the next one it is.
  assert.equal(await processes.worker.stopped(), 0);
  assert.equal((await api.owner.post('/oncall/incidents', { serviceId: id, title: 'second' })).status, 201);
  const sent = smtp.received.length;
  const next = await here('worker');
  await eventually(async () => smtp.received.some((mail) => mail.data.includes('second')));
  assert.ok(smtp.received.length > sent);
  await next.stop(); // before its database goes
});

test('a set of roles that is empty or unknown is refused', async (t) => {
  const { dir } = await scratch(t);
  const sentences: [roles: string, sentence: RegExp][] = [
    ['', /QUARTERDECK_ROLES is wrong: expected at least one of api, registry/],
    [' , ', /expected at least one of api/],
    ['api,wrker', /"wrker" is none of api, registry/],
  ];
  for (const [roles, sentence] of sentences)
    assert.throws(
      () => readConfig({ QUARTERDECK_ROLES: roles }, dir),
      (error) => error instanceof Stop && error.exitCode === 9 && sentence.test(error.message),
    );
  // What is given to the command counts, also when it is nothing.
  const server = serverProcess(t, { dir, args: ['serve', '--roles', ''], env: { QUARTERDECK_ROLES: 'api' } });
  assert.equal((await server.exited).code, 9);
  assert.match(server.stderr(), /expected at least one of api/);
  assert.equal(server.stdout(), '');
});
