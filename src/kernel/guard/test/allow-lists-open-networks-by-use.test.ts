import assert from 'node:assert/strict';
import test from 'node:test';
import { exitCodes, Stop } from '../../errors.ts';
import { decide, GuardRefusal, makeGuard, parseAllow } from '../index.ts';
import { recorder, says } from './internet.ts';
import { httpServer } from './servers.ts';

const may = (list: string, use: string, address: string) => decide(parseAllow(list), use, address).allowed;

test('a plain list opens its networks for every use', () => {
  for (const use of ['uptime', 'webhook', 'mx']) {
    assert.ok(may('10.0.0.0/8,127.0.0.1/32', use, '10.9.8.7'));
    assert.ok(may(' 10.0.0.0/8 , 127.0.0.1 ', use, '127.0.0.1'));
    assert.ok(may('fd00::/8', use, 'fd12::1'));
    assert.ok(!may('10.0.0.0/8,127.0.0.1/32', use, '127.0.0.2'));
    assert.ok(!may('10.0.0.0/8', use, '192.168.0.1'));
    assert.ok(!may('fd00::/8', use, 'fc00::1'));
  }
  assert.ok(may('172.16.128.0/17', 'uptime', '172.16.255.255') && !may('172.16.128.0/17', 'uptime', '172.16.127.255'));
});

test('a list by use opens its networks for that use alone', () => {
  const list = 'uptime=127.0.0.0/8,10.0.0.0/8; webhook=10.1.0.0/16;192.168.0.0/16';
  assert.ok(may(list, 'uptime', '127.0.0.1') && may(list, 'uptime', '10.200.0.1') && may(list, 'uptime', '192.168.1.1'));
  assert.ok(may(list, 'webhook', '10.1.2.3') && may(list, 'webhook', '192.168.1.1'));
  assert.ok(!may(list, 'webhook', '127.0.0.1') && !may(list, 'webhook', '10.2.0.1'));
  assert.ok(!may(list, 'mx', '127.0.0.1') && !may(list, 'mx', '10.1.2.3') && may(list, 'mx', '192.168.1.1'));
  assert.ok(!may(list, '__proto__', '127.0.0.1') && !may(list, 'constructor', '127.0.0.1'));
});

test('a network opens an address in its IPv4-mapped form too, since they are one', () => {
  assert.deepEqual(
    decide(parseAllow('127.0.0.0/8'), 'uptime', '::ffff:127.0.0.1'),
    decide(parseAllow('127.0.0.0/8'), 'uptime', '127.0.0.1'),
  );
});

test('an opened translator does not open what is private behind it', () => {
  assert.ok(may('64:ff9b::/96', 'uptime', '64:ff9b::8.8.8.8'));
  assert.ok(!may('64:ff9b::/96', 'uptime', '64:ff9b::127.0.0.1'));
  assert.ok(!may('64:ff9b::/96', 'uptime', '64:ff9b::169.254.169.254'));
  assert.ok(may('64:ff9b::/96,127.0.0.0/8', 'uptime', '64:ff9b::127.0.0.1'));
  // RFC 6052: the local-use prefix of 48 bits, with the address in its middle or at its end.
  assert.ok(may('64:ff9b:1::/48', 'uptime', '64:ff9b:1:808:8:800::'));
  assert.ok(!may('64:ff9b:1::/48', 'uptime', '64:ff9b:1:7f00:0:100::'));
  assert.ok(!may('64:ff9b:1::/48', 'uptime', '64:ff9b:1:a9fe:a9:fe00::'));
  assert.ok(!may('64:ff9b:1::/48', 'uptime', '64:ff9b:1::127.0.0.1'));
  assert.ok(!may('64:ff9b:1::/48', 'uptime', '64:ff9b:1::'));
  assert.ok(may('64:ff9b:1::/48', 'uptime', '64:ff9b:1::8.8.8.8'));
  assert.ok(may('64:ff9b:1::/48,127.0.0.0/8', 'uptime', '64:ff9b:1:7f00:0:100::'));
  assert.ok(may('2002::/16', 'uptime', '2002:808:808::1') && !may('2002::/16', 'uptime', '2002:a00:1::1'));
  assert.ok(!may('2001::/32', 'uptime', '2001:0:808:808:0:3fff:f5ff:fffe'), 'a Teredo client at 10.0.0.1');
});

test('metadata services are opened by their full address only, and nonsense by nothing', () => {
  const everything = '0.0.0.0/0,::/0';
  assert.ok(may(everything, 'uptime', '127.0.0.1') && may(everything, 'uptime', 'fd12::1') && may(everything, 'uptime', '4000::1'));
  for (const address of ['169.254.169.254', '100.100.100.200', '168.63.129.16', 'fd00:ec2::254']) {
    assert.ok(!may(everything, 'uptime', address) && !may('169.254.0.0/16,100.64.0.0/10,fd00::/8', 'uptime', address));
    assert.ok(may(address, 'uptime', address));
  }
  for (const address of ['0.0.0.0', '0.1.2.3', '::', '224.0.0.1', 'ff02::1', '255.255.255.255']) {
    assert.ok(!may(`${everything},${address}`, 'uptime', address));
  }
});

test('a list that cannot be read stops the start and says what to write', () => {
  const wrong: Record<string, RegExp> = {
    '10.0.0.1/8': /10\.0\.0\.1\/8" has bits set after its prefix; write the network's first address, or 10\.0\.0\.1\/32/,
    '10.0.0.0/33': /longer than 32 bits/,
    'fd00::/129': /longer than 128 bits/,
    '::ffff:10.0.0.0/104': /write it as IPv4/,
    '10/8': /not a network/,
    '010.0.0.0/8': /not a network/,
    localhost: /not a network/,
    '10.0.0.0/8 11.0.0.0/8': /not a network/,
    '10.0.0.0/-1': /not a network/,
    'Uptime=10.0.0.0/8': /not a network/,
    'uptime=webhook=10.0.0.0/8': /not a network/,
    'fe80::%eth0/10': /not a network/,
  };
  for (const [list, sentence] of Object.entries(wrong)) {
    assert.throws(
      () => parseAllow(list),
      (error) =>
        error instanceof Stop &&
        error.exitCode === exitCodes.configuration &&
        sentence.test(error.message) &&
        /QUARTERDECK_ALLOW/.test(error.message),
      list,
    );
  }
  assert.deepEqual(parseAllow(''), parseAllow(' ; , ;'));
});

test('what one use may reach, another may not, over real connections', async (t) => {
  const port = await httpServer(t, (request, response) => response.end(`hello ${request.headers.host}`));
  const guard = makeGuard({ allow: parseAllow('uptime=127.0.0.0/8'), resolver: says('127.0.0.1') });
  for (const host of ['127.0.0.1', '127.1', '2130706433', 'localhost', 'app.localhost', 'name.example.org', '[::ffff:127.0.0.1]']) {
    const response = await guard.fetch('uptime', `http://${host}:${port}/`);
    assert.equal(response.status, 200);
    assert.match(await response.text(), /^hello (127\.0\.0\.1|localhost|app\.localhost|name\.example\.org):\d+$/);
    assert.equal(response.hops[0]?.address, '127.0.0.1');
    await assert.rejects(guard.fetch('webhook', `http://${host}:${port}/`), GuardRefusal);
  }
});

test('localhost is this machine, whatever the name server says', async () => {
  const { connector, reached } = recorder();
  const resolver = says('8.8.8.8');
  const open = makeGuard({ allow: parseAllow('::1'), resolver, connector });
  await assert.rejects(open.connectTcp('uptime', 'LOCALHOST.', 80), { kind: 'connection_refused' });
  assert.deepEqual(reached, [{ address: '::1', family: 6, port: 80 }]);
  const closed = makeGuard({ resolver, connector });
  await assert.rejects(closed.connectTcp('uptime', 'localhost', 80), { kind: 'address', class: 'loopback' });
  assert.throws(() => closed.checkUrl('uptime', 'http://a.localhost/'), GuardRefusal);
  assert.deepEqual(resolver.asked, []);
});

test('ports can be refused by use', async () => {
  const { connector, reached } = recorder();
  const guard = makeGuard({ resolver: says('8.8.8.8'), connector, allowPort: (use, port) => use === 'mx' || port !== 25 });
  await assert.rejects(guard.connectTcp('uptime', 'example.org', 25), { name: 'GuardRefusal', kind: 'port' });
  await assert.rejects(guard.fetch('uptime', 'http://example.org:25/'), { name: 'GuardRefusal', kind: 'port' });
  for (const port of [0, -1, 65536, 1.5, Number.NaN]) await assert.rejects(guard.connectTcp('mx', 'example.org', port), { kind: 'port' });
  assert.deepEqual(reached, []);
  await assert.rejects(guard.connectTcp('mx', 'example.org', 25), { kind: 'connection_refused' });
});

test('a use that does not exist is refused, since its list would open nothing', () => {
  for (const text of ['uptme=10.0.0.0/8', 'uptime=10.0.0.0/8;hooks=10.1.0.0/16'])
    assert.throws(
      () => parseAllow(text),
      /^Stop: QUARTERDECK_ALLOW_PRIVATE_CIDRS: "(uptme|hooks)" is no use of connections; there are uptime, webhook,/,
    );
});
