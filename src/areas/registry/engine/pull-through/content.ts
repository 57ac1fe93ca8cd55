import { setTimeout as pause } from 'node:timers/promises';
import { GuardFailure, type GuardResponse } from '../../../../kernel/guard/index.ts';
import type { Target, UpstreamClient } from '../../clients/upstream/client.ts';
import { UpstreamAway } from '../../rules/errors.ts';

const attempts = 5;
const endless = { connectMs: 10_000, headersMs: 30_000, idleMs: 30_000, totalMs: Number.POSITIVE_INFINITY };

/** Asks an upstream for a blob, or for the rest of it. */
export const getBlob = (client: UpstreamClient, target: Target, digest: string, from = 0): Promise<GuardResponse> =>
  client.ask(target, {
    method: 'GET',
    what: `blobs/${digest}`,
    headers: { accept: '*/*', ...(from ? { range: `bytes=${from}-` } : {}) },
    maxBodyBytes: Number.POSITIVE_INFINITY,
    timeouts: endless,
  });

/** A blob of an upstream. */
export interface Wanted {
  target: Target;
  digest: string;
  size: number;
  /** The answer whose body is the beginning of it. */
  first: GuardResponse;
}

/** The bytes of a blob from beginning to end; a cut is mended by asking for the rest. */
export async function* contentOf(client: UpstreamClient, { target, digest, size, first }: Wanted): AsyncGenerator<Buffer> {
  let answer = first;
  let skip = 0;
  let at = 0;
  for (let failures = 0; ; ) {
    try {
      for await (const chunk of answer.body) {
        const piece = skip ? chunk.subarray(Math.min(skip, chunk.length)) : chunk;
        skip -= chunk.length - piece.length;
        at += piece.length;
        if (at > size) throw new UpstreamAway(`the upstream ${target.host} sends more than the ${size} bytes it announced`);
        failures = 0;
        if (piece.length) yield piece;
      }
      if (at === size) return;
      throw new GuardFailure('connection_reset', 'transfer', `${target.host} closed the connection before the end`);
    } catch (error) {
      if (!(error instanceof GuardFailure) || ++failures >= attempts) throw error;
      await pause(50 * 2 ** failures);
      answer = await getBlob(client, target, digest, at);
      // A server that knows no ranges sends everything again.
      skip = answer.status === 206 ? 0 : at;
      if (answer.status !== 206 && answer.status !== 200)
        throw new UpstreamAway(`the upstream ${target.host} answered ${answer.status} when asked to go on`);
      if (answer.status === 206 && !String(answer.headers['content-range']).startsWith(`bytes ${at}-`))
        throw new UpstreamAway(`the upstream ${target.host} goes on at another place than asked`);
    }
  }
}
