import { createHash } from 'node:crypto';
import { once } from 'node:events';
import { connect, type IncomingHttpHeaders, type IncomingHttpStatusHeader } from 'node:http2';
import { PassThrough, pipeline, Readable } from 'node:stream';
import { guarded } from '../../../kernel/faults/guarded.ts';
import type { EtcdKeys } from '../../keys.ts';
import { blobOf, emptyMessage, GrpcMalformed, messagesIn } from '../rules/etcd/grpc.ts';
import { EtcdError } from './etcd-error.ts';

const silentMs = 60_000;
const hashBytes = 32;
const path = '/etcdserverpb.Maintenance/Snapshot';

/** A member's file of its data, followed by the SHA-256 of it, once the member has begun. Fails if the two do not match. */
export async function openSnapshot(port: number, { authority, client }: Pick<EtcdKeys, 'authority' | 'client'>): Promise<Readable> {
  const session = connect(`https://127.0.0.1:${port}`, { ca: authority.certificate, cert: client.certificate, key: client.key });
  session.on('error', () => {}); // the stream fails with it
  const stream = session.request({ ':method': 'POST', ':path': path, 'content-type': 'application/grpc', te: 'trailers' });
  const end = () => session.destroy();
  const giveUp = guarded('clusters.process.etcd.timeout', stream, () => void stream.destroy(new EtcdError('the copy stands still', 14)));
  stream.setTimeout(silentMs, giveUp);
  stream.once('close', guarded('clusters.process.etcd.close', session, end));
  stream.end(emptyMessage);
  try {
    const closed: Promise<undefined> = once(stream, 'close').then(
      () => undefined,
      () => undefined,
    );
    const trailers = once(stream, 'trailers').then(
      ([headers]) => headers as IncomingHttpHeaders,
      () => undefined,
    );
    // Read from the start: Node drops what a stream holds that ends before it has a reader.
    const body = pipeline(stream, new PassThrough(), () => {}); // the reader throws
    const head = await Promise.race([once(stream, 'response') as Promise<[IncomingHttpHeaders & IncomingHttpStatusHeader]>, closed]);
    requireBegun(head?.[0]);
    const content = Readable.from(
      checked(body, () => Promise.race([trailers, closed])),
      { objectMode: false },
    );
    content.once('close', guarded('clusters.process.etcd.close', session, end)); // also of a reader that never began
    return content;
  } catch (error) {
    end();
    throw error;
  }
}

/** A refusal has no body: its status is in the headers. */
function requireBegun(headers: (IncomingHttpHeaders & IncomingHttpStatusHeader) | undefined): void {
  if (!headers) throw new EtcdError('the copy broke off', 14);
  if (headers[':status'] !== 200) throw new EtcdError(`status ${headers[':status']}`, 2);
  if (headers['grpc-status'] !== undefined) throw errorOf(headers);
}

function errorOf(headers: IncomingHttpHeaders): EtcdError {
  const message = String(headers['grpc-message'] ?? `status ${headers['grpc-status']}`);
  return new EtcdError(message.slice(0, 500), Number(headers['grpc-status']));
}

async function* checked(body: AsyncIterable<Buffer>, trailers: () => Promise<IncomingHttpHeaders | undefined>): AsyncGenerator<Buffer> {
  const hash = createHash('sha256');
  let held: Buffer = Buffer.alloc(0);
  try {
    for await (const message of messagesIn(body)) {
      const all = Buffer.concat([held, blobOf(message)]);
      const known = all.subarray(0, Math.max(0, all.length - hashBytes));
      held = all.subarray(known.length);
      hash.update(known);
      if (known.length > 0) yield known;
    }
    const ended = await trailers();
    if (ended && ended['grpc-status'] !== '0') throw errorOf(ended);
    if (!ended || !hash.digest().equals(held)) throw new EtcdError('the copy broke off', 14);
    yield held;
  } catch (error) {
    throw error instanceof GrpcMalformed ? new EtcdError(`the copy broke off: ${error.message}`, 14) : error;
  }
}
