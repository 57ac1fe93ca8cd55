import { setTimeout as sleep } from 'node:timers/promises';
import { segmentFolder, segmentPrefix } from '../../areas/email/index.ts';
import { openUnstored } from '../../kernel/spool/index.ts';
import type { Storage } from '../../kernel/storage/index.ts';

/** A machine hands its segments over within a minute; a storage that was away takes a little longer. */
const timeoutMs = 180_000;
const pollMs = 1_000;

/**
 * With S3, mail of the last minute is a file of the machine that took it in, and not an object yet. Ours are read where they are; another
 * machine's are waited for, all of them together for no longer than three minutes.
 */
export function withSegments(storage: Storage, dataDir: string): Storage {
  const folder = segmentFolder(dataDir);
  const until = performance.now() + timeoutMs;
  const openEither = async (key: string) => {
    const file = await openUnstored(folder, key);
    if (!file) return storage.open(key);
    const { size } = await file.stat();
    return { size, length: size, stream: file.createReadStream() };
  };
  return {
    ...storage,
    async open(key, range) {
      if (range || !key.startsWith(`${segmentPrefix}/`)) return storage.open(key, range);
      for (;;) {
        const opened = await openEither(key);
        if (opened || performance.now() >= until) return opened;
        await sleep(pollMs);
      }
    },
  };
}
