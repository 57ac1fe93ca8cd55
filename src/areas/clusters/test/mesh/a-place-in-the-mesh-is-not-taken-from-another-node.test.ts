import assert from 'node:assert/strict';
import { test } from 'node:test';
import { standInForWireguard } from '../../../../../test/fakes/wireguard/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { adminHere } from '../../../../admin/test/support.ts';
import { run } from '../../../../kernel/db/index.ts';
import { withPrograms } from '../process/support.ts';
import { askCertificate, joinNode, joinToken, nodeKeys, nodeSubject } from '../support.ts';
import { askPeers, meshedCluster, newPublicKey } from './support.ts';

test('keys, names and addresses of other nodes are refused, and a mesh of before is off until the operator enables it', async (t) => {
  const wireguard = await standInForWireguard();
  const { owner, url, app, connection, dataDir, clock } = await withPrograms(t);
  const mesh = await meshedCluster({ owner, url });
  const { exchange, admin } = mesh;
  const one = await mesh.join('worker-1');
  const refused = async (body: unknown, status: number, why: RegExp) => {
    const { status: found, body: said } = await exchange(body);
    assert.deepEqual([found, why.test(said.error)], [status, true], `${JSON.stringify(body)}: ${JSON.stringify(said)}`);
  };

  // A registration token neither takes a place nor changes a key.
  const wireguardPublicKey = newPublicKey();
  await refused({ node: 'worker-1', wireguardPublicKey }, 409, /worker-1 has another key in the mesh; only its own certificate changes it/);
  await refused({ node: 'worker-2', wireguardPublicKey: one.publicKey }, 409, /the key is that of the node worker-1/);
  const hub = (await askPeers(one)).body.peers[0].publicKey;
  await refused({ node: 'worker-2', wireguardPublicKey: hub }, 400, /the control plane’s own/);
  await refused({ node: 'worker-2', wireguardPublicKey: Buffer.alloc(32).toString('base64') }, 400, /low order/);
  await refused({ node: 'worker-2' }, 400, /belong together/);
  await refused('{"node":', 400, /JSON/);
  await refused(`{"node":"${'x'.repeat(5_000)}"}`, 413, /larger than/);
  const { way: old } = await joinNode(admin, await joinToken(owner, 'prod'), 'old-1');
  await refused({ node: 'old-1', wireguardPublicKey }, 409, /old-1 is in the cluster without a key/);
  const limitations = async (): Promise<string> => (await owner.get('/clusters/prod/usage')).body.limitations.join('\n');
  assert.match(await limitations(), /mesh: old-1 joined without a key; run join\.sh --mesh there/);

  // The join token that comes with a place is for that node alone, and the place for the machine that has the token.
  const place = (await exchange({ node: 'worker-2', wireguardPublicKey })).body;
  const stolen = await askCertificate({ ...admin, token: place.joinToken }, nodeKeys(nodeSubject('worker-9')));
  assert.ok('denied' in stolen && /made for another node/.test(stolen.message), JSON.stringify(stolen));
  const { way: other } = await joinNode(admin, await joinToken(owner, 'prod'), 'worker-2');
  assert.ok(!(await wireguard.configs())[0]!.includes(wireguardPublicKey), 'another machine took the name');

  // The certificate of a node gives it a place, and changes its key.
  assert.equal((await askPeers({ way: old, publicKey: newPublicKey() })).body.address, '100.64.0.3/20');
  assert.match((await askPeers({ way: other, publicKey: one.publicKey })).body.error, /the key is that of the node worker-1/);
  await clock.advance('61s');
  const swapped = newPublicKey();
  assert.equal((await askPeers({ way: one.way, publicKey: swapped })).body.address, one.address);
  const again = await askPeers({ way: one.way, publicKey: newPublicKey() });
  assert.deepEqual([again.status, /just changed/.test(again.body.error)], [429, true], JSON.stringify(again));
  await eventually(async () => (await wireguard.configs())[0]!.includes(swapped));
  for (const body of [{}, { wireguardPublicKey: 'x' }, { wireguardPublicKey: swapped, node: 'worker-2' }])
    assert.equal((await askPeers({ way: one.way, publicKey: swapped }, { revision: 'x'.repeat(65), ...body })).status, 400);

  // No node serves under the address of another one.
  const serving = nodeKeys(nodeSubject('worker-1'), { ip: ['100.64.0.3'] });
  const foreign = await askCertificate(one.way, serving, {
    signer: 'kubernetes.io/kubelet-serving',
    usages: ['digital signature', 'server auth'],
  });
  assert.ok('denied' in foreign && foreign.denied === 'NamesOfOthers' && /100\.64\.0\.3/.test(foreign.message), JSON.stringify(foreign));

  // Without the right to make interfaces nodes join without the mesh, and everything else works.
  const env = { QUARTERDECK_DATABASE_URL: urlOf(connection), QUARTERDECK_DATA: dataDir };
  await app.db.write(async (tx) => {
    await run(tx)`delete from clusters.mesh_peer`;
    await run(tx)`delete from clusters.mesh`;
  });
  assert.match(await limitations(), /mesh: kept; the operator has not switched it on/);
  assert.equal('mesh' in (await exchange({ node: 'worker-5', wireguardPublicKey: newPublicKey() })).body, false);
  await wireguard.forbid();
  const enabled = await adminHere(['clusters', 'mesh', 'enable', 'prod'], env);
  assert.equal(enabled.code, 0, enabled.err);
  assert.match((await adminHere(['clusters', 'mesh', 'enable', 'prod'], env)).err, /is on already/);
  assert.match((await adminHere(['clusters', 'mesh', 'enable', 'nothing'], env)).err, /unknown cluster nothing/);
  await eventually(async () => /may not make network interfaces/.test(await limitations()), { withinMs: 30_000 });
  assert.equal('mesh' in (await exchange({ node: 'worker-5', wireguardPublicKey: newPublicKey() })).body, false);
  assert.match(
    (await adminHere(['doctor'], env)).out,
    /the mesh of prod is not there, so that nodes join without it: the server that holds/,
  );
  await wireguard.allow();
  await eventually(async () => !/may not make/.test(await limitations()), { withinMs: 30_000 });
  const listed = JSON.parse((await adminHere(['clusters', 'mesh', 'list', '--json'], env)).out);
  assert.deepEqual([listed.meshes[0].cluster, listed.meshes[0].on, listed.meshes[0].problem], ['prod', true, null]);
});
