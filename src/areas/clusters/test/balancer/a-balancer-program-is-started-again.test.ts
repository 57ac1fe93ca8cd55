import assert from 'node:assert/strict';
import { connect } from 'node:net';
import { test } from 'node:test';
import { eventually } from '../../../../../test/harness/process.ts';
import { balancerPrograms, balancersAlone, nodeAddress, nodeServer, poolAddress, talk } from './support.ts';

const address = poolAddress(100);
const nodePort = 30_160;
const ports = [
  { port: 8_160, nodePort },
  { port: 8_161, nodePort },
];
const nodes = [{ name: 'one', address: nodeAddress(30) }];
const service = { uid: 'u', address, ports, nodes, sourceRanges: [], proxyProtocol: undefined };

const isRefused = (port: number) =>
  talk(address, port).then(
    () => false,
    (error) => error.code === 'ECONNREFUSED',
  );

for (const signal of ['SIGKILL', 'SIGSTOP'] as const)
  test(`a program that ${signal === 'SIGKILL' ? 'is killed' : 'no longer answers'} is started again, serves what it served, and keeps its figures`, async (t) => {
    await nodeServer(t, nodeAddress(30), nodePort);
    const { balancers, cluster } = balancersAlone(t, { answerMs: 500 });
    const programs = () => balancerPrograms(process.pid);
    assert.deepEqual(await programs(), [], 'none runs while there is nothing to serve');
    assert.deepEqual(await cluster.serve(service), {});
    await talk(address, 8_160, 'before');
    const bytesIn = () => cluster.figures().bytesIn;
    await eventually(async () => bytesIn() === 6);
    const held = connect({ host: address, port: 8_160 }).on('error', () => {});
    t.after(() => held.destroy());
    await eventually(async () => balancers.connections() === 1);

    const [pid] = await programs();
    process.kill(pid!, signal);
    const waiting = talk(address, 8_160, 'meanwhile');
    // A Service's port that is given up before the program runs again is closed too.
    await cluster.serve({ ...service, ports: ports.slice(0, 1) }).catch(() => {});
    assert.match(await waiting, /meanwhile$/);
    await eventually(async () => (await programs()).some((each) => each !== pid));
    await eventually(async () => bytesIn() === 15 && balancers.connections() === 0);
    await eventually(() => isRefused(8_161));
    await cluster.close('u');
    assert.ok(await isRefused(8_160));
    assert.equal(bytesIn(), 15);
    await balancers.stop();
    assert.deepEqual(await programs(), []);
  });

test('a Service that is closed while no program runs leaves no socket', async (t) => {
  const { cluster } = balancersAlone(t, {});
  assert.deepEqual(await cluster.serve(service), {});
  const [pid] = await balancerPrograms(process.pid);
  process.kill(pid!, 'SIGKILL');
  await cluster.closeAll();
  await eventually(() => isRefused(8_160));
});

const serviceAt = (n: number) => ({ ...service, uid: `u${n}`, address: poolAddress(100 + n), ports: ports.slice(0, 1) });

test('clusters that close while others open end no program, and leave no listener', async (t) => {
  await nodeServer(t, nodeAddress(30), nodePort);
  const { balancers, cluster: stays } = balancersAlone(t, {});
  assert.deepEqual(await stays.serve(serviceAt(0)), {});
  const before = await balancerPrograms(process.pid);
  for (let round = 0; round < 5; round++) {
    const clusters = [1, 2, 3, 4].map((n) =>
      balancers.open({ id: `cls_1${n}`, org: 'org_1', mesh: () => undefined, maxConnections: () => 100 }),
    );
    const opened = clusters.map((each, n) => each.serve(serviceAt(n + 1)));
    await Promise.all(clusters.slice(2).map((each) => each.closeAll()));
    await Promise.all(opened);
    await Promise.all(clusters.map((each) => each.closeAll()));
  }
  assert.deepEqual(await balancerPrograms(process.pid), before);
  for (const n of [1, 2, 3, 4]) await assert.rejects(talk(poolAddress(100 + n), 8_160), /ECONNREFUSED/);
  assert.match(await talk(poolAddress(100), 8_160), /hello$/);
});

test('a larger tier has its effect on a Service whose nodes alone are told', async (t) => {
  await nodeServer(t, nodeAddress(30), nodePort);
  let max = 0;
  const { cluster } = balancersAlone(t, { maxConnections: () => max });
  assert.deepEqual(await cluster.serve(service), {});
  await assert.rejects(talk(address, 8_160), /ECONNRESET/);
  max = 100;
  await cluster.setNodes('u', nodes);
  assert.match(await talk(address, 8_160), /hello$/);
});

test('a Service that is closed while it waits for an idle program to end is not served, and the next one is', async (t) => {
  await nodeServer(t, nodeAddress(30), nodePort);
  const { cluster } = balancersAlone(t, {});
  assert.deepEqual(await cluster.serve(service), {});
  const [pid] = await balancerPrograms(process.pid);
  t.mock.timers.enable({ apis: ['setTimeout'] });
  await cluster.close('u');
  process.kill(pid!, 'SIGSTOP'); // it is told to end, and does so once the rest was asked
  t.mock.timers.tick(60_000);
  const [served, closed] = [cluster.serve(service), cluster.close('u')];
  process.kill(pid!, 'SIGCONT');
  assert.deepEqual(await served, {});
  await closed;
  t.mock.timers.reset();
  assert.ok(await isRefused(8_160));
  assert.deepEqual(await balancerPrograms(process.pid), []);
  assert.deepEqual(await cluster.serve(service), {});
  assert.match(await talk(address, 8_160), /hello$/);
});
