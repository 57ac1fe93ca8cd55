import { randomBytes } from 'node:crypto';
import { Transform } from 'node:stream';
import type { Storage } from '../../../../../kernel/storage/index.ts';
import { yieldToLoop } from '../../../../../kernel/yielding.ts';
import { hashBody, makeBodyHash } from '../../clients/dkim.ts';
import type { Submission } from '../submission.ts';

/** A message whose bytes are counted and hashed, in memory or as an object in storage. */
export interface Prepared {
  submission: Submission;
  inline?: Buffer;
  /** The object's key, for a large message. */
  key?: string;
  bytes: number;
  headerBytes: number;
  bodyHash: Buffer;
}

/** Hashed in one event-loop turn. */
const sliceBytes = 131_072;
const maxSingleTurnBytes = 16_384;

/** A large message is an object before its row exists. An object without a row is swept (engine/retention.ts). */
export async function prepare({ app: { storage } }: { app: { storage: Storage } }, submission: Submission): Promise<Prepared> {
  const { content } = submission;
  if (Buffer.isBuffer(content) && content.length <= maxSingleTurnBytes) return prepareSmall(submission, content);
  const meter = makeContentMeter();
  if (Buffer.isBuffer(content)) {
    for (let at = 0; at < content.length; at += sliceBytes) {
      meter.add(content.subarray(at, at + sliceBytes));
      await yieldToLoop(); // other requests run between the slices
    }
    return { submission, inline: content, bytes: content.length, ...meter.finish() };
  }
  const key = `${largePrefix}/${randomBytes(1).toString('hex')}/${randomBytes(15).toString('hex')}`;
  const counted = new Transform({
    transform(chunk: Buffer, _encoding, done) {
      meter.add(chunk);
      done(null, chunk);
    },
  });
  content.stream.on('error', (error) => counted.destroy(error)).pipe(counted);
  const { size } = await storage.put(key, counted);
  return { submission, key, bytes: size, ...meter.finish() };
}

function prepareSmall(submission: Submission, content: Buffer): Prepared {
  const end = content.indexOf('\r\n\r\n', 0, 'latin1');
  const headerBytes = end < 0 ? content.length : end + 4;
  return { submission, inline: content, bytes: content.length, headerBytes, bodyHash: hashBody(content.subarray(headerBytes)) };
}

export const largePrefix = 'mail/large';

/** Finds the end of the header across chunks, and hashes the body as DKIM does. */
function makeContentMeter() {
  const hash = makeBodyHash();
  let headerBytes = -1;
  let seen = 0;
  let tail: Buffer = Buffer.alloc(0);
  return {
    add(chunk: Buffer) {
      if (headerBytes >= 0) {
        hash.update(chunk);
        return;
      }
      const joined = tail.length ? Buffer.concat([tail, chunk]) : chunk;
      const end = joined.indexOf('\r\n\r\n');
      if (end >= 0) {
        headerBytes = seen - tail.length + end + 4;
        hash.update(joined.subarray(end + 4));
      }
      seen += chunk.length;
      tail = joined.subarray(Math.max(0, joined.length - 3));
    },
    finish: () => ({ headerBytes: headerBytes < 0 ? seen : headerBytes, bodyHash: hash.digest() }),
  };
}
