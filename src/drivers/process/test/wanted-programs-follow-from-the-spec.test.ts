import assert from 'node:assert/strict';
import { test } from 'node:test';
import { makeInnerKeys } from '../../../areas/clusters/engine/inner-keys.ts';
import { makeAuthority, newKey } from '../../../areas/clusters/engine/issue.ts';
import { filesOf } from '../rules/files.ts';
import { type RunSpec, restartDelaySeconds, wantApiservers, wantControllerManager, wantKine, wantScheduler } from '../rules/programs.ts';

const store = {
  kind: 'kine' as const,
  generation: 1,
  socket: '/run/kine.sock',
  database: 'postgres://me:secret@localhost/db?search_path=cluster_x',
};
const run: RunSpec = {
  tier: 'small',
  replicas: 2,
  endpoint: 'https://127.0.0.1:16443',
  keysDir: '/run/keys-a',
  inflight: 200,
  network: { services: '10.96.0.0/12', pods: '10.244.0.0/14' },
  nodeCertificateSeconds: 604_800,
  binaries: { dir: '/bin/v1.36.4', kine: '/bin/kine' },
  store,
};

test('wanted programs follow from the spec, deterministically', () => {
  const [first, second] = wantApiservers(run, []);
  assert.deepEqual([wantApiservers(run, []).length, first!.name === second!.name, first!.hash === second!.hash], [2, false, true]);
  assert.equal(wantApiservers({ ...run }, [])[0]!.hash, first!.hash);
  // Whatever changes what runs changes the hash; the port does not.
  for (const change of [
    { tier: 'medium' },
    { inflight: 800 },
    { keysDir: '/run/keys-b' },
    { binaries: { dir: '/bin/v1.37.0', kine: '/bin/kine' } },
  ])
    assert.notEqual(wantApiservers({ ...run, ...change }, [])[0]!.hash, first!.hash);
  assert.ok(first!.args(4711).includes('--secure-port=4711'));
  // The store goes on over a change of the tier or the version.
  assert.equal(wantKine({ ...run, tier: 'large', keysDir: '/run/keys-b' }, store).hash, wantKine(run, store).hash);
  // Asked how far its watches are, kine answers up to a second late; so it is not asked.
  assert.match(wantKine(run, store).args(0).join(' '), /--emulated-etcd-version 3\.5\.12/);
  assert.match(wantKine(run, store).args(0).join(' '), /--watch-progress-notify-interval 1s/);
  assert.notEqual(wantControllerManager(run, 'https://127.0.0.1:1').hash, wantControllerManager(run, 'https://127.0.0.1:2').hash);
  assert.ok(wantControllerManager(run, 'https://127.0.0.1:1').args(0).includes('--controllers=*,-csrapproving'));
});

test('no argument contains a secret', () => {
  const all = [
    wantKine(run, store),
    ...wantApiservers(run, []),
    wantControllerManager(run, 'https://127.0.0.1:1'),
    wantScheduler(run, 'https://127.0.0.1:1'),
  ];
  assert.doesNotMatch(all.flatMap((each) => each.args(1)).join(' '), /secret|postgres:/);
  assert.equal(wantKine(run, store).env.KINE_ENDPOINT, store.database);
});

test('a renewal keeps the authorities’ keys and the key that seals the store', () => {
  const ca = { ...makeAuthority('kubernetes', newKey()), commonName: 'kubernetes' };
  const first = makeInnerKeys(ca);
  const second = makeInnerKeys(ca, first);
  assert.deepEqual(
    [second.authority.key, second.frontAuthority.key, second.storeKey],
    [first.authority.key, first.frontAuthority.key, first.storeKey],
  );
  assert.notEqual(second.front.key, first.front.key);
  const source = { ca, accountKey: newKey(), egressSocket: '/run/egress.sock' };
  assert.equal(filesOf({ ...source, inner: first })['store.json'], filesOf({ ...source, inner: second })['store.json']);
});

test('a program that keeps exiting is restarted with delays of up to a minute', () => {
  assert.deepEqual([1, 2, 3, 4, 5, 6, 7, 8, 9, 50].map(restartDelaySeconds), [0, 1, 2, 4, 8, 16, 32, 60, 60, 60]);
});
