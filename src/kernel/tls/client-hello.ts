// The first message of a TLS client (RFC 8446, 4.1.2; RFC 5246, 7.4.1.2), as far as it names a host and application protocols. It is
// untrusted: every length is checked against the bytes that are there.

export interface ClientHello {
  serverName: string | undefined;
  protocols: string[];
}

/** `more`: it has not arrived whole. `other`: this is no ClientHello, or none that is read here. */
export type ReadHello = { is: 'hello'; hello: ClientHello } | { is: 'more' } | { is: 'other' };

/** A ClientHello with post-quantum key shares has some 2 KiB. */
const maxHelloBytes = 16_384;

const handshakeRecord = 22;
const clientHelloMessage = 1;
const extensionIds = { serverName: 0, protocols: 16 };

class TooShort extends Error {}

/** Reads numbers and slices in order. */
class Reader {
  readonly #bytes: Buffer;
  #at = 0;

  constructor(bytes: Buffer) {
    this.#bytes = bytes;
  }

  get left(): number {
    return this.#bytes.length - this.#at;
  }

  number(size: number): number {
    return this.slice(size).readUIntBE(0, size);
  }

  slice(length: number): Buffer {
    if (length > this.left) throw new TooShort('it ends early');
    this.#at += length;
    return this.#bytes.subarray(this.#at - length, this.#at);
  }

  /** A value with its length in front. */
  vector(lengthSize: number): Reader {
    return new Reader(this.slice(this.number(lengthSize)));
  }
}

export function readClientHello(bytes: Buffer): ReadHello {
  try {
    const message = joinRecords(bytes);
    if (message === undefined) return { is: 'other' };
    const reader = new Reader(message);
    if (reader.number(1) !== clientHelloMessage) return { is: 'other' };
    const length = reader.number(3);
    if (length > maxHelloBytes) return { is: 'other' };
    return { is: 'hello', hello: readBody(reader.slice(length)) ?? { serverName: undefined, protocols: [] } };
  } catch (error) {
    if (error instanceof TooShort) return bytes.length < maxHelloBytes ? { is: 'more' } : { is: 'other' };
    throw error;
  }
}

/** The payload of the handshake records so far. Undefined: the bytes are of another kind. */
function joinRecords(bytes: Buffer): Buffer | undefined {
  const payloads: Buffer[] = [];
  for (let at = 0; at < bytes.length; ) {
    if (bytes[at] !== handshakeRecord) return payloads.length ? Buffer.concat(payloads) : undefined;
    if (at + 5 > bytes.length) break;
    const end = at + 5 + bytes.readUInt16BE(at + 3);
    if (end === at + 5) return undefined; // an empty record only costs time
    payloads.push(bytes.subarray(at + 5, end));
    at = end;
  }
  return Buffer.concat(payloads);
}

/** Undefined: it is damaged. TLS itself refuses it then. */
function readBody(bytes: Buffer): ClientHello | undefined {
  try {
    const reader = new Reader(bytes);
    reader.slice(2 + 32); // version and random
    reader.vector(1); // session id
    reader.vector(2); // cipher suites
    reader.vector(1); // compression methods
    const hello: ClientHello = { serverName: undefined, protocols: [] };
    if (reader.left === 0) return hello;
    const extensions = reader.vector(2);
    while (extensions.left > 0) {
      const id = extensions.number(2);
      const value = extensions.vector(2);
      if (id === extensionIds.serverName) hello.serverName = readServerName(value.vector(2));
      else if (id === extensionIds.protocols) hello.protocols = readProtocols(value.vector(2));
    }
    return hello;
  } catch (error) {
    if (error instanceof TooShort) return undefined;
    throw error;
  }
}

/** RFC 6066, 3: the first name of the type host_name. */
function readServerName(names: Reader): string | undefined {
  while (names.left > 0) {
    const type = names.number(1);
    const name = names.vector(2);
    if (type === 0) return name.slice(name.left).toString('latin1').toLowerCase();
  }
  return undefined;
}

function readProtocols(list: Reader): string[] {
  const protocols: string[] = [];
  while (list.left > 0) {
    const protocol = list.vector(1);
    protocols.push(protocol.slice(protocol.left).toString('latin1'));
  }
  return protocols;
}
