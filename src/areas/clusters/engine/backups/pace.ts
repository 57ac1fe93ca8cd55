import { setTimeout as sleep } from 'node:timers/promises';

const stepBytes = 2 ** 18;

/**
 * Passes a body on in steps of 256 KiB, at most `bytesPerSecond`. The rests are what requests need that share processors with it. A source that was
 * slow for a while does not make up for it.
 */
export async function* paced(
  body: AsyncIterable<Uint8Array>,
  bytesPerSecond: number,
  { now, rest }: { now: () => number; rest: (ms: number) => Promise<unknown> } = { now: () => performance.now(), rest: sleep },
): AsyncGenerator<Uint8Array> {
  let bytes = 0;
  let nextAt = now();
  for await (const chunk of body) {
    yield chunk;
    bytes += chunk.length;
    if (bytes < stepBytes) continue;
    nextAt = Math.max(nextAt + (bytes / bytesPerSecond) * 1_000, now());
    bytes = 0;
    const ms = Math.ceil(nextAt - now());
    if (ms > 0) await rest(ms);
  }
}
