import { writeSync } from 'node:fs';
import { fileStorage } from '../index.ts';
import { blobKey, inPieces, sampleBytes, sha256 } from './storages.ts';

/** Writes objects for as long as it lives and prints each acknowledged one before it goes on. */
const [root, seed] = process.argv.slice(2);
const storage = await fileStorage(root!);
const say = (line: object) => writeSync(1, `${JSON.stringify(line)}\n`);

for (let object = Number(seed); ; object++) {
  const bytes = sampleBytes(2_500_000 + object, object);
  const key = blobKey(sha256(bytes));
  if (object % 2 === 0) {
    await storage.put(key, inPieces(bytes, 65_536));
  } else {
    const id = await storage.createUpload();
    for (let at = 0; at < bytes.length; ) {
      at = await storage.append(id, at, inPieces(bytes.subarray(at, at + 1_100_000), 65_536));
      say({ object, id, at });
    }
    await storage.commit(id, key);
  }
  say({ object, key });
}
