// What etcd's gRPC sends for `Maintenance.Snapshot`: length-prefixed messages of protobuf. By its HTTP gateway the same copy costs etcd four times the
// processor time, for JSON and base64, on the processors that serve its cluster's requests.

/** A request without fields. */
export const emptyMessage = Buffer.alloc(5);

const prefixBytes = 5;
/** etcd sends pieces of 32 KiB. */
const maxMessageBytes = 4 * 2 ** 20;

export class GrpcMalformed extends Error {}

/** The messages in a stream, however its bytes are cut. */
export async function* messagesIn(stream: AsyncIterable<Buffer>): AsyncGenerator<Buffer> {
  let pending: Buffer = Buffer.alloc(0);
  for await (const chunk of stream) {
    pending = pending.length === 0 ? chunk : Buffer.concat([pending, chunk]);
    while (pending.length >= prefixBytes) {
      if (pending[0] !== 0) throw new GrpcMalformed('a message is compressed');
      const end = prefixBytes + pending.readUInt32BE(1);
      if (end > maxMessageBytes) throw new GrpcMalformed('a message is too large');
      if (pending.length < end) break;
      yield pending.subarray(prefixBytes, end);
      pending = pending.subarray(end);
    }
  }
  if (pending.length > 0) throw new GrpcMalformed('a message is cut off');
}

const varint = 0;
const lengthDelimited = 2;
/** Of `SnapshotResponse`. */
const blobField = 3;

/** The piece of the copy in a `SnapshotResponse`; empty if it has none. */
export function blobOf(message: Buffer): Buffer {
  let at = 0;
  const readVarint = (): number => {
    let value = 0;
    for (let factor = 1; at < message.length; factor *= 128) {
      const byte = message[at++]!;
      value += (byte & 127) * factor;
      if (byte < 128) return value;
    }
    throw new GrpcMalformed('a message ends within a number');
  };
  let blob: Buffer = Buffer.alloc(0);
  while (at < message.length) {
    const tag = readVarint();
    const wireType = tag % 8;
    if (wireType !== varint && wireType !== lengthDelimited) throw new GrpcMalformed(`a message has a field of type ${wireType}`);
    const value = readVarint();
    if (wireType === varint) continue;
    if (at + value > message.length) throw new GrpcMalformed('a message ends within a field');
    if (Math.floor(tag / 8) === blobField) blob = message.subarray(at, at + value);
    at += value;
  }
  return blob;
}
