import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standInForWireguard } from '../../../../../test/fakes/wireguard/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { withPrograms } from '../process/support.ts';
import { answered, kube } from '../support.ts';
import { askPeers, type MeshedNode, meshedCluster, newPublicKey } from './support.ts';

test('a node joins the mesh with its key, hears of the others, and is gone within 2 s when it is deregistered', async (t) => {
  const wireguard = await standInForWireguard();
  const { owner, url } = await withPrograms(t);
  const mesh = await meshedCluster({ owner, url });
  const limitations = async () =>
    (await owner.get('/clusters/prod/usage')).body.limitations.filter((each: string) => each.startsWith('mesh:'));
  assert.deepEqual(await limitations(), []);

  const one = await mesh.join('worker-1');
  const two = await mesh.join('worker-2');
  assert.deepEqual([one.address, two.address], ['100.64.0.2/20', '100.64.0.3/20']);

  /** The node's view once it is as wanted. */
  const seen = (node: MeshedNode, isWanted: (peers: { publicKey: string; allowedIps: string[] }[]) => boolean) =>
    eventually(async () => {
      const { status, body } = await askPeers(node);
      assert.equal(status, 200, JSON.stringify(body));
      return isWanted(body.peers) && body;
    });
  const first = await seen(one, (peers) => peers.some(({ publicKey }) => publicKey === two.publicKey));
  assert.equal(first.address, one.address);
  assert.deepEqual(first.peers[0].allowedIps, ['100.64.0.0/20'], 'through the control plane');
  assert.deepEqual(first.peers[1], { publicKey: two.publicKey, endpoint: '203.0.113.3:4000', allowedIps: [] });

  // Once each says that it reaches the other, they send directly.
  await askPeers(one, { reached: [two.publicKey] });
  await askPeers(two, { reached: [one.publicKey] });
  const direct = await eventually(async () => {
    const { body } = await askPeers(one, { reached: [two.publicKey] });
    return body.peers[1].allowedIps.length === 1 && body;
  });
  assert.deepEqual(direct.peers[1].allowedIps, ['100.64.0.3/32']);
  const [config = ''] = await wireguard.configs();
  assert.ok(config.includes(`PublicKey = ${one.publicKey}\nAllowedIPs = 100.64.0.2/32`), config);

  // A client of the release before sends no key: it joins, and usage names it.
  const plain = await mesh.exchange();
  assert.deepEqual([plain.status, 'mesh' in plain.body], [201, false]);

  const waiting = askPeers(one, { reached: [two.publicKey], revision: direct.revision });
  // One that was answered 502 for lack of time may have been done all the same: then it is repeated to a node that is gone.
  const gone = await answered(() => owner.delete('/clusters/prod/nodes/worker-2'));
  assert.ok(gone.status === 204 || gone.status === 404, JSON.stringify(gone.body));
  const began = performance.now();
  const heard = await waiting;
  assert.ok(performance.now() - began < 2_000, 'the others hear within 2 s');
  assert.deepEqual(
    heard.body.peers.map(({ publicKey }: { publicKey: string }) => publicKey),
    [direct.peers[0].publicKey],
  );
  assert.ok(!(await wireguard.configs())[0]!.includes(two.publicKey), 'the control plane sends nothing to it any more');
  const late = await eventually(() => askPeers(two).catch(() => false as const));
  assert.equal(late.status, 403, JSON.stringify(late.body));
  assert.match(late.body.error, /was deregistered; join again/);
  assert.equal((await kube(mesh.admin, 'POST', '/quarterdeck/mesh/v1', { wireguardPublicKey: newPublicKey() })).status, 401);

  // The address is free again, and the interface goes with the cluster.
  assert.equal((await mesh.join('worker-3')).address, '100.64.0.3/20');
  await owner.delete('/clusters/prod');
  await eventually(async () => (await owner.get('/clusters/prod')).status === 404, { withinMs: 60_000 });
  assert.deepEqual(await wireguard.configs(), []);
});
