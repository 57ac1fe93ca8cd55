import assert from 'node:assert/strict';
import { test } from 'node:test';
import { misbehave } from '../../../../../test/fakes/kubernetes/index.ts';
import { blobOf, messagesIn } from '../../../../drivers/process/rules/etcd/grpc.ts';
import { withPrograms } from '../process/support.ts';
import { adminOf, readyCluster } from '../support.ts';
import { clustersOf, putMap, take } from './support.ts';

test('a backup of an etcd has all of its copy, and one whose copy breaks off is none', async (t) => {
  const qd = await withPrograms(t, { withEtcd: true });
  const { owner } = qd;
  const admin = clustersOf(qd);
  await readyCluster(owner, { name: 'prod', datastore: { mode: 'dedicated', storageGiB: 1 } });
  const way = await adminOf(owner, 'prod');
  for (let n = 0; n < 5; n++) await putMap(way, `m-${n}`, { text: `${n}`.repeat(20_000) });
  const whole = await take(admin);
  const listed = async () => JSON.parse((await admin('backups', 'list', 'prod', '--json')).out).backups;
  assert.deepEqual(
    (await listed()).map(({ backup, store }: { backup: string; store: string }) => [backup, store]),
    [[whole, 'etcd']],
  );

  await misbehave(qd.binaries, { etcd: { cutSnapshot: true } });
  const cut = await admin('backups', 'take', 'prod');
  assert.deepEqual([cut.code, /its log says why/.test(cut.err)], [11, true], cut.err);
  assert.equal((await listed()).length, 1);
  await misbehave(qd.binaries, {});
  await take(admin);
  assert.equal((await listed()).length, 2);
});

const messageOf = (blob: Buffer): Buffer => {
  const fields = Buffer.concat([Buffer.from([0x0a, 0x02, 0x08, 0x01, 0x10, 0x80, 0x01, 0x1a, blob.length]), blob]);
  const prefix = Buffer.alloc(5);
  prefix.writeUInt32BE(fields.length, 1);
  return Buffer.concat([prefix, fields]);
};

async function blobsIn(bytes: Buffer, pieceBytes: number): Promise<string[]> {
  async function* pieces() {
    for (let at = 0; at < bytes.length; at += pieceBytes) yield bytes.subarray(at, at + pieceBytes);
  }
  const found: string[] = [];
  for await (const message of messagesIn(pieces())) found.push(blobOf(message).toString());
  return found;
}

test('pieces of an etcd’s copy are found however their bytes arrive', async () => {
  const blobs = ['first', '', 'the last one'];
  const bytes = Buffer.concat(blobs.map((blob) => messageOf(Buffer.from(blob))));
  for (let size = 1; size <= bytes.length; size++) assert.deepEqual(await blobsIn(bytes, size), blobs);
  for (let end = 1; end < messageOf(Buffer.from('first')).length; end++)
    await assert.rejects(blobsIn(bytes.subarray(0, end), 7), /cut off|ends within/);
  await assert.rejects(blobsIn(Buffer.concat([Buffer.from([1]), bytes]), 100), /compressed/);
  await assert.rejects(blobsIn(Buffer.from([0, 0xff, 0, 0, 0, 0]), 100), /too large/);
  assert.throws(() => blobOf(Buffer.from([0x1a, 9, 1])), /within a field/);
});
