import assert from 'node:assert/strict';
import test from 'node:test';
import { GuardRefusal, makeGuard } from '../index.ts';
import { elsewhere, recorder, says, somewhere } from './internet.ts';
import { forbiddenV4, forbiddenV6 } from './spellings.ts';

test('one forbidden answer refuses the whole name, wherever it stands', async () => {
  const { connector, reached } = recorder();
  for (const address of [...forbiddenV4, ...forbiddenV6, '::ffff:10.0.0.1', 'fe80::1%lo', '0177.0.0.1', 'localhost', '']) {
    for (const answers of [
      [address],
      [address, somewhere],
      [somewhere, address],
      [somewhere, elsewhere, '2606:4700::1111', elsewhere, address],
    ]) {
      const guard = makeGuard({ resolver: says(...answers), connector });
      await assert.rejects(guard.fetch('webhook', 'http://example.org/'), GuardRefusal, address);
      await assert.rejects(guard.connectTls('mx', 'example.org', 25), GuardRefusal, address);
    }
  }
  assert.deepEqual(reached, []);
});

test('the refusal says what to do, and keeps what the inner name server said to itself', async () => {
  const guard = makeGuard({ resolver: says('10.20.30.40'), connector: recorder().connector });
  await assert.rejects(
    guard.fetch('webhook', 'https://intern.example.org/hook?key=s3cret', { headers: { authorization: 'Bearer s3cret' } }),
    {
      name: 'GuardRefusal',
      kind: 'address',
      class: 'private',
      code: 'blocked_target',
      status: 400,
      message:
        'intern.example.org resolves to an address that is not public (private); use a public one, ' +
        'or have the operator add its network to QUARTERDECK_ALLOW_PRIVATE_CIDRS (use webhook)',
    },
  );
});

test('the addresses of a name are tried in turn, IPv4 first, four at most', async () => {
  const { connector, reached } = recorder();
  const answers = ['2606:4700::1', '2606:4700::2', '2606:4700::3', '8.8.8.1', '8.8.8.2', '8.8.8.3'];
  const guard = makeGuard({ resolver: says(...answers), connector });
  await assert.rejects(guard.connectTcp('uptime', 'example.org', 80), { kind: 'connection_refused' });
  assert.deepEqual(
    reached.map(({ address }) => address),
    ['8.8.8.1', '2606:4700::1', '8.8.8.2', '2606:4700::2'],
  );
});

test('a name without an address is a failure, not a refusal', async () => {
  const guard = makeGuard({ resolver: says(), connector: recorder().connector });
  await assert.rejects(guard.connectTcp('uptime', 'example.org', 80), { name: 'GuardFailure', kind: 'dns_not_found', phase: 'resolve' });
});
