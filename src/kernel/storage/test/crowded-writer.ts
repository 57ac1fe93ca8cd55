import assert from 'node:assert/strict';
import { fileStorage, StorageFull } from '../index.ts';
import { inPieces, keysOf, readAll, sampleBytes, sha256 } from './storages.ts';

const MiB = 1024 * 1024;

/** Runs where files cannot grow beyond a few MiB: the system refuses the write in the middle of a body, as it does on a full disk. */
const storage = await fileStorage(process.argv[2]!);
const bytes = sampleBytes(16 * MiB);
const fitting = bytes.subarray(0, 1.5 * MiB);
await storage.put('fits', fitting);
const id = await storage.createUpload();
await storage.append(id, 0, fitting);

await assert.rejects(storage.put('too/large', inPieces(bytes, 65_536)), StorageFull);
await assert.rejects(storage.put('fits', inPieces(bytes, 65_536)), StorageFull);
await assert.rejects(storage.append(id, fitting.length, inPieces(bytes.subarray(fitting.length), 65_536)), StorageFull);

assert.equal(await storage.uploadOffset(id), fitting.length, 'the room that the refused chunk took is given back');
await storage.commit(id, 'later', { digest: sha256(fitting) });
assert.deepEqual(await keysOf(storage), ['fits', 'later']);
assert.ok(fitting.equals((await readAll(storage, 'fits'))!));
assert.equal(await storage.sweep(new Date(8.64e15)), 0, 'nothing half-written is left');
console.log('kept its word');
