import assert from 'node:assert/strict';
import { once } from 'node:events';
import { IncomingMessage, type ServerResponse } from 'node:http';
import { Socket } from 'node:net';
import { PassThrough } from 'node:stream';
import { test } from 'node:test';
import { connect, type TLSSocket } from 'node:tls';
import type { ControlPlane } from '../../../../drivers/driver.ts';
import type { App } from '../../../../kernel/app.ts';
import { makeLoopWatch } from '../../../../kernel/fairness/index.ts';
import { makePeers } from '../../../../kernel/http/peer.ts';
import { makeLog } from '../../../../kernel/log.ts';
import { makeAuthority, makeLeaf, newKey } from '../../engine/issue.ts';
import { makeHoldingRoom } from '../../planes/front/holding.ts';
import { makeFront } from '../../planes/front/index.ts';
import { servePlanes } from '../../planes/front/serve-planes.ts';

const request = (headers: string[] = []) => Object.assign(new IncomingMessage(new Socket()), { rawHeaders: headers, url: '/' });
const turns = async () => {
  for (let n = 0; n < 5; n++) await new Promise((later) => setTimeout(later, 20));
};

test('waiting requests have bounds, and a flood of one organization takes no place of another one', async () => {
  const each = 12_289; // one request with an empty head
  const room = makeHoldingRoom({ waitMs: 60_000, bytes: 20 * each, perCluster: 15 });
  let isOpen = false;
  const outcomes: string[] = [];
  const hold = (org: string, cluster: string, name: string, caller = new PassThrough()) => {
    void room
      .of(cluster, org)(request(), caller, () => isOpen)
      .then((served) => outcomes.push(`${name} ${served ? 'served' : 'refused'}`));
    return caller;
  };
  for (let n = 0; n < 16; n++) hold('flood', 'a', `a${n}`);
  await turns();
  assert.deepEqual(outcomes.splice(0), ['a15 refused'], 'of one cluster');
  for (let n = 0; n < 6; n++) hold('flood', 'b', `b${n}`);
  await turns();
  assert.deepEqual(outcomes.splice(0), ['b5 refused'], 'of all together: those who have the most get no more');
  assert.equal(room.size(), 20);
  const gone = hold('calm', 'c', 'c0');
  hold('calm', 'c', 'c1');
  await turns();
  assert.deepEqual(outcomes.splice(0), ['a0 refused', 'a1 refused'], 'others do, at their expense');
  gone.destroy();
  await turns();
  assert.deepEqual(outcomes.splice(0), ['c0 refused']);
  isOpen = true;
  await turns();
  assert.equal(room.size(), 0);
  assert.equal(outcomes.filter((outcome) => outcome.endsWith(' served')).length, 19);
});

test('a request waits once, however often it is held', async () => {
  const room = makeHoldingRoom({ waitMs: 60, bytes: 1e6, perCluster: 5 });
  const caller = new PassThrough();
  const hold = (isOpen: boolean) => room.of('a', 'a')(request(), caller, () => isOpen);
  assert.equal(await hold(true), true);
  assert.equal(await hold(false), false);
  assert.equal(await hold(true), false, 'its time is over');
});

const ca = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
const serving = makeLeaf(ca, { subject: { commonName: 'kube-apiserver' }, usage: 'server', hosts: ['127.0.0.1'] });

test('of a request that waits only the head is read; it is served once there is a plane, else refused', async (t) => {
  const room = makeHoldingRoom({ waitMs: 1_500, bytes: 1e7, perCluster: 100 });
  const peers = makePeers([]);
  const log = makeLog('silent');
  const app = { peers, log, watch: makeLoopWatch(() => {}) } as unknown as App;
  let plane: ControlPlane | undefined;
  const served: string[] = [];
  const good = {
    serve: async (asked: IncomingMessage, response: ServerResponse) => {
      let body = '';
      for await (const chunk of asked) body += chunk;
      served.push(`${asked.method} ${body.length}`);
      response.end('fine');
    },
  } as unknown as ControlPlane;
  const door = { owns: () => false, answer: () => assert.fail('not asked for peers') };
  const front = servePlanes(app, makeFront(log, peers), door, room);
  const listener = await front.open({
    id: 'cls_1',
    org: 'org_1',
    listen: { host: '127.0.0.1', port: 0 },
    serverName: undefined,
    keys: { certificate: serving.certificate, key: serving.key, authority: ca.certificate },
    maxConnections: () => 50,
    maxInflight: () => 50,
    plane: () => plane,
    mesh: () => undefined,
    takesUpgrades: false,
  });
  t.after(() => listener.close());
  const dial = async (): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', port: listener.port, ca: ca.certificate }).on('error', () => {});
    t.after(() => socket.destroy());
    await once(socket, 'secureConnect');
    return socket;
  };
  const first = async (socket: TLSSocket) => String((await once(socket, 'data'))[0]).split('\r\n')[0];
  const untilHeld = async (count: number) => {
    while (room.size() !== count) await new Promise((later) => setTimeout(later, 5));
  };

  // A body larger than all buffers between: its sender is stopped, not served by memory.
  const large = await dial();
  const size = 64 * 2 ** 20;
  large.write(`POST / HTTP/1.1\r\nHost: a\r\nContent-Length: ${size}\r\n\r\n`);
  const body = Buffer.alloc(2 ** 20);
  let sent = 0;
  const send = () => {
    while (sent < size) {
      sent += body.length;
      if (!large.write(body)) return void large.once('drain', send);
    }
  };
  send();
  // One that trickles, and one that leaves.
  const slow = await dial();
  slow.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 3\r\n\r\n');
  const leaving = await dial();
  leaving.write('GET / HTTP/1.1\r\nHost: a\r\n\r\n');
  await untilHeld(3);
  leaving.destroy();
  await untilHeld(2);
  assert.ok(sent < size / 2, `${sent} bytes were taken of a request that waits`);
  plane = good;
  slow.write('abc');
  assert.deepEqual(await Promise.all([first(large), first(slow)]), ['HTTP/1.1 200 OK', 'HTTP/1.1 200 OK']);
  assert.deepEqual(served.sort(), ['POST 3', `POST ${size}`]);

  plane = undefined;
  const late = await dial();
  late.write('POST / HTTP/1.1\r\nHost: a\r\nContent-Length: 1000\r\n\r\n');
  const [said] = (await once(late, 'data')) as [Buffer];
  assert.match(said.toString(), /^HTTP\/1\.1 503 [\s\S]*retry-after: 1[\s\S]*being taken over by another server/i);
  assert.equal(room.size(), 0);
  // Its connection does not stay with the body that never comes.
  await once(late, 'close');
});
