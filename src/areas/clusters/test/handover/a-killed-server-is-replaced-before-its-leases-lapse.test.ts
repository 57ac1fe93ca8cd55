import assert from 'node:assert/strict';
import { once } from 'node:events';
import { type TestContext, test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect } from 'node:tls';
import { run } from '../../../../kernel/db/index.ts';
import { maps } from '../process/request-loop.ts';
import { joinNode, joinToken, kube, untilReady, type Way } from '../support.ts';
import { type Machines, machines, seeded, untilSaid } from './support.ts';

const own = '/api/v1/nodes/worker-1';

/** What the leases alone would keep from every other server for an hour. */
const prolongLeases = ({ app }: Machines) =>
  app.db.write((tx) => run(tx)`update clusters.cluster set lease_until = kernel.now() + interval '1 hour' where lease is not null`);

const untilAnswered = async (way: Way, path = `${maps}/seed`) => {
  let status = 0;
  while (status !== 200) {
    status = await kube(way, 'GET', path).then(
      (said) => said.status,
      () => 0,
    );
    await sleep(20);
  }
};

test('another server takes over from one that was killed, without waiting for its leases', async (t) => {
  const qd = await machines(t);
  const first = await qd.startShard('first');
  const admin = await seeded(qd, 'prod');
  const second = await qd.startShard('second');
  await prolongLeases(qd);
  await first.killed();
  await untilAnswered(admin);
  await untilReady(qd.owner, 'prod');
  await untilSaid(second, 'a server with the role shard is gone');

  // The one that was killed comes back, and leaves the cluster where it is. Then it is alone, is killed, and finds its own cluster at once.
  const again = await qd.startShard('first');
  assert.equal(await second.stopped(), 0);
  await untilSaid(again, 'a cluster was handed over to this server');
  await prolongLeases(qd);
  await again.killed();
  const last = await qd.startShard('first');
  await untilAnswered(admin);
  assert.doesNotMatch(last.stderr(), /is gone/, 'it knew by its own note, and did not wait for its silence');
  await last.stopped();
});

test('a frozen server that wakes up answers nothing any more from what another one serves', async (t) => {
  const qd = await machines(t);
  const frozen = await qd.startShard('first');
  const admin = await seeded(qd, 'prod');
  const { way: node } = await joinNode(admin, await joinToken(qd.owner, 'prod'), 'worker-1');
  const port = new URL(admin.server).port;
  // As on another machine: at an address of its own.
  await qd.startShard('second', { QUARTERDECK_CLUSTER_LISTEN: `127.0.0.2:${port}` });
  await prolongLeases(qd);

  const kept = await openKept(t, node);
  assert.match(await kept.ask(), /^HTTP\/1\.1 200 /);
  frozen.signal('SIGSTOP');
  t.after(() => frozen.signal('SIGCONT'));
  await untilAnswered({ ...node, server: `https://127.0.0.2:${port}`, serverName: 'localhost' }, own);
  const answered = kept.ask(); // it waits in the kernel
  frozen.signal('SIGCONT');
  assert.doesNotMatch(await answered, /^HTTP\/1\.1 2/);
  await assert.rejects(untilRefused(admin), { code: 'ECONNREFUSED' });
});

async function untilRefused(way: Way): Promise<never> {
  for (;;) {
    await kube(way, 'GET', '/version').catch((error: NodeJS.ErrnoException) => {
      if (error.code === 'ECONNREFUSED') throw error;
    });
    await sleep(20);
  }
}

/** A connection that is kept, written to by hand: no client asks again behind our back. */
async function openKept(t: TestContext, way: Way) {
  const { hostname: host, port } = new URL(way.server);
  const { ca, cert, key } = way;
  const socket = connect({ host, port: Number(port), ca, ...(cert && key ? { cert, key } : {}) }).on('error', () => {});
  t.after(() => socket.destroy());
  await once(socket, 'secureConnect');
  return {
    async ask(): Promise<string> {
      socket.write(`GET ${own} HTTP/1.1\r\nHost: a\r\n\r\n`);
      const said = await Promise.race([once(socket, 'data'), once(socket, 'close')]);
      return Buffer.isBuffer(said[0]) ? said[0].toString() : 'closed';
    },
  };
}
