import assert from 'node:assert/strict';
import { once } from 'node:events';
import http from 'node:http';
import https from 'node:https';
import { connect } from 'node:net';
import { test } from 'node:test';
import { adminOf, readyCluster } from '../../src/areas/clusters/test/support.ts';
import { email } from '../../src/areas/email/index.ts';
import { mailScene } from '../../src/areas/email/test/mail-scene.ts';
import { speakSmtp } from '../../src/areas/email/test/smtp-scene.ts';
import { agent } from '../../src/areas/uptime/test/support.ts';
import { stopEnding } from '../../src/kernel/lifecycle/ending.ts';
import { quarterdeck } from '../harness/index.ts';
import { eventually } from '../harness/process.ts';

const get = async (url: string, agent?: http.Agent) => {
  const [answer] = (await once(http.get(url, agent ? { agent } : {}), 'response')) as [http.IncomingMessage];
  const chunks = await answer.setEncoding('utf8').toArray();
  return { status: answer.statusCode, headers: answer.headers, text: chunks.join('') };
};

const isRefused = (url: string) => {
  const { hostname, port } = new URL(url);
  const socket = connect(Number(port), hostname);
  return once(socket, 'connect').then(
    () => void socket.destroy(),
    (error) => error.code === 'ECONNREFUSED',
  );
};

test('a stop says that it comes, then tells every client to come again', async (t) => {
  const { qd, key } = await mailScene(t);
  const { ports } = qd.own(email).smtp;

  // What is under way when the stop comes: a connection that is reused, a long poll, a watch, a message and a session without one.
  const reused = new http.Agent({ keepAlive: true, maxSockets: 1 });
  assert.equal((await get(`${qd.url}/healthz`, reused)).headers.connection, 'keep-alive');
  const prober = await agent(qd, 'far away');
  const { cursor } = (await prober.assignments()).body;
  const longPoll = prober.assignments(cursor);
  await readyCluster(qd.owner, { name: 'watched' });
  const way = await adminOf(qd.owner, 'watched');
  const watching = https.get(`${way.server}/api/v1/namespaces?watch=1`, {
    ca: way.ca,
    headers: { authorization: `Bearer ${way.token}` },
    agent: false,
  });
  const [watch] = (await once(watching, 'response')) as [http.IncomingMessage];
  const watched = watch.setEncoding('utf8').toArray();
  const [amid, idle] = [await speakSmtp(t, ports[0]!), await speakSmtp(t, ports[0]!)];
  assert.match(await amid.beginMessage(key.secret), /^354 /);

  const notice = Promise.withResolvers<void>();
  const stopped = qd.stop({ ...stopEnding, notice: notice.promise });
  const readiness = await get(`${qd.url}/readyz`);
  assert.deepEqual([readiness.status, readiness.headers['x-error-code']], [503, 'stopping']);
  assert.equal((await get(`${qd.url}/healthz`, reused)).headers.connection, 'close');
  assert.equal((await qd.owner.get('/tokens')).status, 200);

  notice.resolve();
  assert.deepEqual((await longPoll).body, { cursor, full: false, assignments: [], removed: [] });
  assert.match((await watched).join(''), /"kind":"Namespace"/);
  assert.ok(watch.complete, 'a watch is ended, not cut');
  assert.match(await idle.hear(), /^421 4\.3\.2 the server stops/);
  await eventually(() => isRefused(qd.url));
  assert.match(await amid.say('From: ada@example.com\r\nTo: bob@far.example\r\nSubject: Hello\r\n\r\nHello.\r\n.'), /^250 /);
  assert.match(await amid.hear(), /^421 4\.3\.2 the server stops/);
  await stopped;
});

test('a request that does not finish in time is told to come again', async (t) => {
  const qd = await quarterdeck(t);
  const request = http.request(`${qd.url}/api/v1/tokens`, {
    method: 'POST',
    headers: { authorization: `Bearer ${qd.owner.key}`, 'content-type': 'application/json', 'content-length': 100, expect: '100-continue' },
  });
  request.flushHeaders();
  await once(request, 'continue');
  const stopped = qd.stop({ ...stopEnding, requestMs: 100 });
  const [answer] = (await once(request, 'response')) as [http.IncomingMessage];
  assert.deepEqual([answer.statusCode, answer.headers['retry-after'], answer.headers['x-error-code']], [503, '1', 'stopping']);
  assert.match((await answer.setEncoding('utf8').toArray()).join(''), /this server stops; send the request again in a moment/);
  request.on('error', () => {}).destroy();
  await stopped;
});
