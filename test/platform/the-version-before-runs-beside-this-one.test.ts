import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type TestContext, test } from 'node:test';
import { letter, mailScene } from '../../src/areas/email/test/mail-scene.ts';
import { type Caller, caller, type Quarterdeck } from '../harness/index.ts';
import { urlOf } from '../harness/postgres.ts';
import { eventually, scratch, serverProcess } from '../harness/process.ts';
import { knowsAllMigrations, versionBefore } from '../harness/version-before.ts';

// A rolling upgrade: for some minutes two versions share a database. Names in the code may change from one to the next; tables, job kinds,
// lanes, topics, NOTIFY channels and formats may not.

const others = 'registry,worker,prober';

async function startTarget(t: TestContext): Promise<string> {
  const target = createServer((_request, response) => response.end('fine')).listen(0, '127.0.0.1');
  t.after(() => target.close());
  await once(target, 'listening');
  return `http://127.0.0.1:${(target.address() as AddressInfo).port}/`;
}

/** Work that one version takes in and the other one does: a message, a page, a check, and a registry key that is revoked. */
async function shareWork(
  qd: Quarterdeck,
  at: { api: Caller; send: Caller; registry: string; target: string; sent: () => string },
  name: string,
) {
  const { api, send, registry, target, sent } = at;
  const made = async (path: string, body: object) => {
    const answer = await api.post(path, body);
    assert.equal(answer.status, 201, `${path}: ${JSON.stringify(answer.body)}`);
    return answer.body;
  };
  const message = await send.post('/email/send', letter({ subject: `message ${name}` }));
  assert.equal(message.status, 202, JSON.stringify(message.body));
  await eventually(async () => sent().includes(`message ${name}`));

  const { id } = await made('/oncall/services', { name });
  const step = { target: { kind: 'user', id: qd.owner.userId, label: '' }, waitSeconds: 60 };
  const policy = await made('/oncall/escalation-policies', { name, repeat: 0, steps: [step] });
  assert.equal((await api.put(`/oncall/services/${id}`, { escalationPolicyId: policy.id })).status, 200);
  await made('/oncall/incidents', { serviceId: id, title: `incident ${name}` });
  await eventually(async () => sent().includes(`incident ${name}`));

  const check = { name, serviceId: id, kind: 'http', intervalSeconds: 5, timeoutMs: 2_000, vantages: ['local'], http: { url: target } };
  const monitor = await made('/uptime/monitors', check);
  await eventually(async () => (await api.get(`/uptime/monitors/${monitor.id}`)).body.state === 'up');

  const slug = name.replaceAll(' ', '-');
  await made('/registry/registries', { slug });
  const { keyId, secret } = await made(`/registry/registries/${slug}/keys`, { name, mode: 'readwrite' });
  const authorization = `Basic ${Buffer.from(`${keyId}:${secret}`).toString('base64')}`;
  const login = async () => (await fetch(`${registry}/v2/`, { headers: { authorization } })).status;
  assert.equal(await login(), 200);
  assert.equal((await api.delete(`/registry/registries/${slug}/keys/${keyId}`)).status, 204);
  await eventually(async () => (await login()) === 401, { withinMs: 1_000 });
}

test('the version before runs beside this one on one database, each doing what the other one took in', async (t) => {
  const checkout = await versionBefore(t);
  if (!checkout) return t.skip('the history of this clone does not reach the version before');
  if (!(await knowsAllMigrations(checkout)))
    return t.skip('this version has a migration more, so the version before cannot start beside it');
  const { qd, key, env, sink } = await mailScene(t, {}, { env: { QUARTERDECK_ROLES: 'api', QUARTERDECK_UPTIME_INTERVALS: '5,60' } });
  const sent = () => sink.messages.map((m) => String(m.data)).join('\n');
  const target = await startTarget(t);
  const { dir } = await scratch(t);
  const shared = {
    ...env,
    QUARTERDECK_DATABASE_URL: urlOf(qd.connection),
    QUARTERDECK_PUBLIC_URL: qd.url,
    QUARTERDECK_SMTP_RELAY: `smtp://127.0.0.1:${sink.port}`,
  };
  const start = (roles: string, of?: string) =>
    serverProcess(t, { dir, dataDir: qd.dataDir, env: { ...shared, QUARTERDECK_ROLES: roles }, ...(of && { checkout: of }) });

  const before = start(others, checkout);
  await shareWork(qd, { api: qd.owner, send: key, registry: await before.ready, target, sent }, 'taken in by this version');
  assert.equal(await before.stopped(), 0, before.stderr());

  const apiBefore = start('api', checkout);
  const now = start(others);
  const url = await apiBefore.ready;
  const at = { api: caller(url, qd.owner.key), send: caller(url, key.secret), registry: await now.ready, target, sent };
  await shareWork(qd, at, 'taken in by the version before');
});
