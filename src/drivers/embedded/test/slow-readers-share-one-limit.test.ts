import assert from 'node:assert/strict';
import { once } from 'node:events';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { connect, type TLSSocket } from 'node:tls';
import fc from 'fast-check';
import { makeLog } from '../../../kernel/log.ts';
import { limits } from '../engine/cluster.ts';
import { makeUnreadLimiter, unreadLimits } from '../engine/unread-bytes.ts';
import { configMap, embedded, openWatch } from './support.ts';

const maps = '/api/v1/namespaces/default/configmaps';
const quiet = makeLog('silent');

test('the connections with the most unread bytes are cut when a cluster or an organization exceeds its limit', () => {
  const MiB = 2 ** 20;
  const unread = makeUnreadLimiter(quiet);
  const cut: string[] = [];
  const open = (org: string, cluster: string, name: string) => unread.open({ org, cluster }, () => cut.push(name));
  const [slow, slower, other, stranger] = [
    open('acme', 'a', 'slow'),
    open('acme', 'a', 'slower'),
    open('acme', 'b', 'other'),
    open('umbrella', 'c', 'stranger'),
  ];
  slow.add(20 * MiB);
  slower.add(30 * MiB);
  other.add(60 * MiB);
  stranger.add(60 * MiB);
  assert.deepEqual(cut, []);
  slow.add(15 * MiB); // 65 of cluster a: its largest account is cut
  assert.deepEqual(cut, ['slow']);
  assert.equal(unread.bytes(), 150 * MiB);
  slow.add(50 * MiB); // the account is closed and no longer counts
  slow.close();
  const more = Array.from({ length: 3 }, (_, n) => open('acme', `d${n}`, `more ${n}`));
  more[0]!.add(38 * MiB); // exactly the limit of the organization
  assert.deepEqual(cut, ['slow']);
  more[1]!.add(1);
  assert.deepEqual(cut, ['slow', 'other'], 'of all its clusters the one that lags furthest');
  for (const each of [slower, ...more, stranger]) each.close();
  assert.equal(unread.bytes(), 0);
});

test('after any sequence of add, subtract and close, the sums are right and within the limits', () => {
  const step = fc.record({
    who: fc.nat(9),
    bytes: fc.integer({ min: 0, max: 40 * 2 ** 20 }),
    act: fc.constantFrom('add', 'add', 'take', 'end'),
  });
  fc.assert(
    fc.property(fc.array(step, { maxLength: 100 }), (steps) => {
      const unread = makeUnreadLimiter(quiet);
      const held = new Map<number, number>();
      const shares = Array.from({ length: 10 }, (_, n) =>
        unread.open({ org: `org ${n % 2}`, cluster: `cluster ${n % 4}` }, () => void held.delete(n)),
      );
      for (let n = 0; n < 10; n++) held.set(n, 0);
      const sum = (of: (n: number) => boolean) => [...held].reduce((all, [n, bytes]) => all + (of(n) ? bytes : 0), 0);
      for (const { who, bytes, act } of steps) {
        const has = held.get(who);
        if (has === undefined) continue;
        const some = Math.min(bytes, has);
        if (act === 'add') held.set(who, has + bytes);
        if (act === 'take') held.set(who, has - some);
        if (act === 'end') held.delete(who);
        if (act === 'add') shares[who]!.add(bytes);
        else if (act === 'take') shares[who]!.subtract(some);
        else shares[who]!.close();
        assert.equal(
          unread.bytes(),
          sum(() => true),
        );
        for (let n = 0; n < 4; n++) assert.ok(sum((each) => each % 4 === n) <= unreadLimits.cluster);
        for (let n = 0; n < 2; n++) assert.ok(sum((each) => each % 2 === n) <= unreadLimits.organization);
      }
    }),
  );
});

test('watches whose clients do not read are cut when they exceed the shared limit, and other watches continue', async (t) => {
  const before = { bytes: limits.watchBufferBytes, cluster: unreadLimits.cluster };
  t.after(() => {
    limits.watchBufferBytes = before.bytes;
    unreadLimits.cluster = before.cluster;
  });
  // None of them exceeds its own limit.
  limits.watchBufferBytes = 2 ** 30;
  unreadLimits.cluster = 8_000_000;
  const { call, port, ca, admin, options } = await embedded(t);
  const reader = openWatch(port, ca, admin, `${maps}?watch=1`);
  const open = async (): Promise<TLSSocket> => {
    const socket = connect({ host: '127.0.0.1', port, ca: ca.certificate, cert: admin.cert, key: admin.key });
    await once(socket, 'secureConnect');
    socket.write(`GET ${maps}?watch=1 HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n`);
    await once(socket, 'data'); // the headers; from here on the client reads nothing
    return socket.pause();
  };
  const slow = await Promise.all([open(), open(), open()]);
  const text = 'x'.repeat(1_000_000);
  let most = 0;
  let made = 0;
  while (made < 24) {
    await call('POST', maps, configMap(`m${made++}`, { text }));
    most = Math.max(most, options.unread.bytes());
  }
  await reader.until(made);
  assert.ok(most <= 8_000_000, `${most} bytes were kept`);
  // A client that was cut gets no more than the kernel's buffers hold.
  for (const socket of slow) {
    let taken = 0;
    socket.on('data', (chunk: Buffer) => {
      taken += chunk.length;
    });
    socket.on('error', () => {});
    socket.resume();
    await once(socket, 'close');
    assert.ok(taken < 20_000_000, `it was sent ${taken} bytes`);
  }
  while (options.unread.bytes() > 0) await sleep(10);
});
