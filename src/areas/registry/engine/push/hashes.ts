import { createHash, type Hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { Algorithm } from '../../rules/names.ts';

interface RunningHash {
  algorithm: Algorithm;
  hash: Hash;
  bytes: number;
}

/**
 * The running hash of each upload that this process receives. It cannot be stored: after a restart, or on another machine, the content is
 * read back at the end.
 */
export interface Hashes {
  begin(id: string, algorithm: Algorithm): void;
  /** The same bytes, added to the upload's hash. */
  through(id: string, offset: number, body: AsyncIterable<Buffer>): AsyncIterable<Buffer>;
  /** The digest so far, if this process hashed all bytes with this algorithm. */
  digest(id: string, algorithm: Algorithm, size: number): string | undefined;
  forget(id: string): void;
}

export function makeHashes(): Hashes {
  const live = new LRUCache<string, RunningHash>({ ...boundedTo(10_000), ttl: 24 * 3600 * 1000 });
  return {
    begin: (id, algorithm) => void live.set(id, { algorithm, hash: createHash(algorithm), bytes: 0 }),
    through: (id, offset, body) => {
      const running = live.get(id);
      if (!running || running.bytes !== offset) {
        live.delete(id);
        return body;
      }
      return hashing(running, body);
    },
    digest: (id, algorithm, size) => {
      const running = live.get(id);
      return running && running.algorithm === algorithm && running.bytes === size
        ? `${algorithm}:${running.hash.copy().digest('hex')}`
        : undefined;
    },
    forget: (id) => void live.delete(id),
  };
}

async function* hashing(running: RunningHash, body: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  for await (const chunk of body) {
    running.hash.update(chunk);
    running.bytes += chunk.length;
    yield chunk;
  }
}
