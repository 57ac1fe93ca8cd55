import assert from 'node:assert/strict';
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { eventually } from '../../../../test/harness/process.ts';
import { authority } from '../../../kernel/guard/test/certificates.ts';
import { httpServer, tcpServer } from '../../../kernel/guard/test/servers.ts';
import type { AgentOptions } from '../agent.ts';
import { agentHere, bufferDir, type FakeServer, fakeServer, proberProcess } from './server.ts';
import { httpMonitor, httpTarget } from './support.ts';

async function agent(t: TestContext, server: FakeServer, more: Partial<AgentOptions> = {}) {
  const dir = await bufferDir(t);
  return { dir, ...(await agentHere(t, server, { dir, ...more })) };
}

test('what changes there is checked here a moment later, and named as the server wants', async (t) => {
  const server = await fakeServer(t);
  const asked: string[] = [];
  const port = await httpServer(t, (request, response) => {
    asked.push(`${request.url} ${request.headers['user-agent']}`);
    response.end();
  });
  const { stop } = await agent(t, server);
  await eventually(async () => server.sessions.length === 1);
  server.assignments = [httpMonitor('mon_a', { target: httpTarget(`http://127.0.0.1:${port}/one`) })];
  server.changed();
  await eventually(async () => asked.includes('/one Quarterdeck-uptime/1 (test)'));
  server.assignments = [httpMonitor('mon_a', { epoch: 2, target: httpTarget(`http://127.0.0.1:${port}/two`) })];
  server.changed();
  await eventually(async () => server.stored.some(({ epoch, outcome }) => epoch === 2 && outcome === 'pass'));
  await stop();
});

test('assignments that this version does not understand are left out, the others are not', async (t) => {
  const server = await fakeServer(t);
  const port = await httpServer(t, (_, response) => response.end());
  server.assignments = [
    { ...httpMonitor('mon_new'), kind: 'quic' } as never,
    httpMonitor('mon_old', { target: httpTarget(`http://127.0.0.1:${port}/`) }),
  ];
  const { stop } = await agent(t, server);
  await eventually(async () => server.stored.length > 0);
  assert.deepEqual([...new Set(server.stored.map(({ monitor }) => monitor))], ['mon_old']);
  await stop();
});

test('a prober whose canaries are silent says so with its results', async (t) => {
  const server = await fakeServer(t);
  const port = await httpServer(t, (_, response) => response.end());
  server.assignments = [httpMonitor('mon_a', { target: httpTarget(`http://127.0.0.1:${port}/`) })];
  const cut = await agent(t, server, { canaries: [{ host: '127.0.0.1', port: 1 }] });
  await eventually(async () => server.stored.length > 0);
  assert.deepEqual([...new Set(server.stored.map(({ degraded }) => degraded))], [true]);
  await cut.stop();
  const there = await agent(t, server, {
    canaries: [
      { host: '127.0.0.1', port: 1 },
      { host: '127.0.0.1', port: await tcpServer(t, () => {}) },
    ],
  });
  await eventually(async () => server.stored.some(({ degraded }) => !degraded));
  await there.stop();
});

test('under another vantage it goes by another name, and takes nothing along', async (t) => {
  const server = await fakeServer(t);
  const { dir, stop } = await agent(t, server);
  const name = async () => JSON.parse(await readFile(join(dir, 'instance.json'), 'utf8')) as { id: string; vantage: string };
  await eventually(async () => (await name()).vantage === 'fra1');
  const before = await name();
  server.vantage = 'nyc1';
  server.mood = 'away';
  server.changed();
  await eventually(async () => server.turnedAway > 0);
  server.mood = 'well';
  await eventually(async () => (await name()).vantage === 'nyc1');
  assert.notEqual((await name()).id, before.id);
  await eventually(async () => server.sessions.at(-1)!.instance === (await name()).id);
  await stop();
});

test('https to the server is verified, with the authorities that NODE_EXTRA_CA_CERTS adds', async (t) => {
  const ca = authority('a company');
  const server = await fakeServer(t, { certificate: ca.issue(['localhost', '127.0.0.1']) });
  const settings = { server: server.url, token: 't' };
  const file = join(await bufferDir(t), 'ca.pem');
  await writeFile(file, ca.cert);
  const trusting = proberProcess(t, { ...settings, bufferDir: await bufferDir(t) }, { NODE_EXTRA_CA_CERTS: file });
  await eventually(async () => server.sessions.length === 1);
  const strange = proberProcess(t, { ...settings, bufferDir: await bufferDir(t) });
  await eventually(async () => /server is away/.test(strange.log()));
  assert.match(strange.log(), /UNABLE_TO_VERIFY|SELF_SIGNED|unable to verify/);
  assert.equal(server.sessions.length, 1);
  for (const { child, exited } of [trusting, strange]) {
    child.kill('SIGTERM');
    assert.equal(await exited, 0);
  }
});
