import assert from 'node:assert/strict';
import { EventEmitter, once } from 'node:events';
import { Agent, request as httpsRequest } from 'node:https';
import { type Server, type Socket, connect as tcpConnect } from 'node:net';
import { type TestContext, test } from 'node:test';
import { connect as tlsConnect } from 'node:tls';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { currentContext } from '../../../../kernel/fairness/index.ts';
import { throttleHandshakes } from '../../planes/front/handshakes.ts';
import { makeUnauthenticatedConnections } from '../../planes/front/unauthenticated.ts';
import { adminOf, joinNode, joinToken, kube, readyCluster, type Way } from '../support.ts';

/** Opens so many connections at a cluster's port, a few at a time; the list shrinks when they are closed. */
async function crowd(t: TestContext, way: Way, many: number, open: (port: number) => { socket: Socket; opened: Promise<unknown> }) {
  const there = new Set<Socket>();
  t.after(() => {
    for (const socket of there) socket.destroy();
  });
  const port = Number(new URL(way.server).port);
  for (let n = 0; n < many; n += 20)
    await Promise.all(
      Array.from({ length: Math.min(20, many - n) }, async () => {
        const { socket, opened } = open(port);
        there.add(socket.on('error', () => {}).once('close', () => there.delete(socket)));
        await Promise.race([opened, once(socket, 'close')]);
      }),
    );
  return there;
}

const byTls = (way: Way) => (port: number) => {
  const socket = tlsConnect({ port, host: '127.0.0.1', ca: way.ca, rejectUnauthorized: false });
  return { socket, opened: once(socket, 'secureConnect').catch(() => {}) };
};
const byTcp = (port: number) => {
  const socket = tcpConnect(port, '127.0.0.1');
  return { socket, opened: once(socket, 'connect').catch(() => {}) };
};

test('unauthenticated callers cannot exhaust a cluster, and use none of its organization’s share', async (t) => {
  const { owner, app } = await quarterdeck(t);
  await readyCluster(owner, { name: 'prod' });
  const admin = await adminOf(owner, 'prod');
  const { way: node } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-1');
  const anonymous: Way = { server: admin.server, ca: admin.ca };

  // One connection that a token has made known, which is kept.
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  t.after(() => agent.destroy());
  const askKept = () =>
    new Promise<{ status: number; isSame: boolean }>((resolve, reject) => {
      const asked = httpsRequest(
        `${admin.server}/api/v1/namespaces`,
        { ca: admin.ca, agent, headers: { authorization: `Bearer ${admin.token}` } },
        (answer) => answer.resume().once('end', () => resolve({ status: answer.statusCode!, isSame: asked.reusedSocket })),
      );
      asked.on('error', reject).end();
    });
  assert.equal((await askKept()).status, 200);

  await t.test('500 anonymous TLS connections', async () => {
    const there = await crowd(t, admin, 520, byTls(admin));
    await eventually(async () => there.size <= 125); // a quarter of the tier's 500, for one address
    assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 200, 'by certificate');
    assert.equal((await kube(admin, 'GET', '/api/v1/namespaces')).status, 200, 'by token, on a connection that is unknown at first');
    assert.deepEqual(await askKept(), { status: 200, isSame: true }, 'a connection that is known stays');
    for (const socket of there) socket.destroy();
  });

  await t.test('connections without a TLS hello', async () => {
    const there = await crowd(t, admin, 300, byTcp);
    await eventually(async () => there.size <= 250);
    assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 200);
    assert.deepEqual(await askKept(), { status: 200, isSame: true });
    for (const socket of there) socket.destroy();
  });

  await t.test('whose share is used', async () => {
    const { read } = app.db;
    const paid = new Set<string>();
    const mock = t.mock.method(app.db, 'read', ((work) => {
      paid.add(currentContext().org);
      return read.call(app.db, work);
    }) as typeof read);
    const paidBy = async (way: Way, status: number) => {
      paid.clear();
      assert.equal((await kube(way, 'GET', '/api/v1/namespaces')).status, status);
      return [...paid].filter((org) => org !== '').sort();
    };
    // The cluster's own watches and heartbeats read for the organization too, now and then.
    for (const [way, status] of [
      [anonymous, 403],
      [{ ...anonymous, token: 'abcdef.0123456789abcdef' }, 401],
    ] as const)
      await eventually(async () => !(await paidBy(way, status)).includes(owner.orgId));
    assert.deepEqual(await paidBy(admin, 200), ['from 127.0.0.1', owner.orgId].sort(), 'a token is looked at for its address');
    assert.deepEqual(await paidBy(node, 403), [owner.orgId], 'a certificate says at once who it is');
    paid.clear();
    await askKept();
    assert.deepEqual(
      [...paid].filter((org) => org !== ''),
      [owner.orgId],
      'as does a connection that is known',
    );
    mock.mock.restore();
  });

  await t.test('unauthenticated requests in flight leave room for authenticated ones', async () => {
    const { read } = app.db;
    const held = Promise.withResolvers<void>();
    const mock = t.mock.method(app.db, 'read', (async (work) => {
      if (currentContext().org.startsWith('from ')) await held.promise;
      return read.call(app.db, work);
    }) as typeof read);
    const asked = Array.from({ length: 80 }, () => kube({ ...anonymous, token: 'abcdef.0123456789abcdef' }, 'GET', '/api/v1/namespaces'));
    let answers = 0;
    for (const each of asked) void each.then(() => answers++);
    await eventually(async () => answers === 30);
    assert.equal((await kube(node, 'GET', '/api/v1/nodes/worker-1')).status, 200);
    assert.equal((await askKept()).status, 200);
    held.resolve();
    mock.mock.restore();
    const statuses = (await Promise.all(asked)).map(({ status }) => status);
    const refused = statuses.filter((status) => status === 429).length;
    assert.deepEqual([refused, statuses.length], [30, 80], 'a quarter of the tier’s 200 may be under way for one address');
  });
});

test('the oldest idle connection of the address with the most connections is evicted first', () => {
  const closed: string[] = [];
  type Fake = Socket & { name: string };
  const socket = (name: string) => ({ name }) as Fake;
  const strangers = makeUnauthenticatedConnections<Fake>({
    connections: () => ({ total: 4, perAddress: 3 }),
    requests: () => ({ total: 3, perAddress: 2 }),
    addressOf: ({ name }) => (name.startsWith('proxy') ? undefined : name[0]),
    close: ({ name }) => void closed.push(name),
  });
  const [a1, a2, a3, a4] = ['a1', 'a2', 'a3', 'a4'].map(socket) as [Fake, Fake, Fake, Fake];
  const closes = (act: () => void) => {
    closed.length = 0;
    act();
    return closed;
  };
  for (const one of [a1, a2, a3]) strangers.add(one);
  const end = strangers.beginRequest(a1)!;
  assert.deepEqual(
    closes(() => strangers.add(a4)),
    ['a2'],
    'a1 is older and busy',
  );
  assert.deepEqual(
    closes(() => strangers.add(socket('b1'))),
    [],
  );
  assert.deepEqual(
    closes(() => strangers.add(socket('c1'))),
    ['a3'],
    'one address keeps no other out',
  );
  end();
  end();
  assert.deepEqual(
    closes(() => strangers.add(socket('c2'))),
    ['a1'],
  );
  assert.equal(strangers.size(), 4);
  strangers.remove(a4);
  assert.equal(strangers.has(a4), false);
  assert.ok(strangers.beginRequest(socket('x')), 'one that has left is no stranger of an address');
  for (let n = 0; n < 6; n++) strangers.add(socket(`proxy${n}`));
  assert.equal(strangers.size(), 4, 'a proxy has no bound of its own, but the one of all');
  while (strangers.evict());
  assert.equal(strangers.size(), 0);
});

function paced(isBusy?: () => boolean) {
  const server = new EventEmitter() as unknown as Server;
  const begun: string[] = [];
  server.on('connection', (socket: Socket) => void begun.push(socket.remoteAddress!));
  throttleHandshakes(server, ({ remoteAddress }) => remoteAddress, isBusy);
  const arrive = (remoteAddress: string, remotePort: number) => {
    const socket = Object.assign(new EventEmitter(), { remoteAddress, remotePort, destroy: () => socket.emit('close') });
    server.emit('connection', socket as unknown as Socket);
    return socket;
  };
  return { begun, arrive };
}

test('a few handshakes start without a pause, one per turn of the loop', async () => {
  const { begun, arrive } = paced();
  for (let n = 0; n < 5; n++) arrive('a', n);
  assert.equal(begun.length, 0);
  for (let n = 1; n <= 5; n++) {
    await turnOfLoop();
    assert.equal(begun.length, n);
  }
});

test('while many handshakes are queued there is a pause between two, round-robin by address', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  const { begun, arrive } = paced();
  const many = Array.from({ length: 300 }, (_, n) => arrive('a', n));
  arrive('b', 1);
  arrive('c', 1);
  await turnOfLoop(); // the first one came alone
  for (let n = 0; n < 3; n++) t.mock.timers.tick(4);
  assert.deepEqual(begun, ['a', 'b', 'c', 'a'], 'the other addresses do not wait for all of the first one’s');
  for (const socket of many.slice(0, 290)) socket.destroy();
  for (let n = 0; n < 20; n++) t.mock.timers.tick(4);
  assert.equal(begun.length, 14, 'a connection that is closed while it waits costs nothing more');
});

test('while the loop is busy, the pause between two handshakes is longer', async (t) => {
  t.mock.timers.enable({ apis: ['setTimeout'] });
  let isBusy = true;
  const { begun, arrive } = paced(() => isBusy);
  for (let n = 0; n < 5; n++) arrive('a', n);
  for (let turn = 0; turn < 5; turn++) await turnOfLoop();
  assert.equal(begun.length, 0, 'however many turns the loop makes');
  for (let n = 1; n <= 2; n++) {
    t.mock.timers.tick(8);
    assert.equal(begun.length, n);
  }
  isBusy = false;
  t.mock.timers.tick(8);
  for (let turn = 0; turn < 5; turn++) await turnOfLoop();
  assert.equal(begun.length, 5);
});

const turnOfLoop = () => new Promise((resolve) => setImmediate(resolve));
