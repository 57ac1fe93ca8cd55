import { createHash, type KeyObject, sign } from 'node:crypto';

// DKIM (RFC 6376), relaxed/relaxed, with RSA (RFC 8301) and ed25519 (RFC 8463). Our own, since signing is half of what sending costs:
// keys stay parsed, the body is hashed once when it is accepted, and a header is canonicalized once for both signatures.

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const space = 0x20;
const tab = 0x09;
const bufferBytes = 16_384;

/** Hashes a body as `relaxed` sees it (RFC 6376 3.4.4), in whatever pieces it comes. */
export interface BodyHash {
  update(chunk: Uint8Array): void;
  digest(): Buffer;
}

export function makeBodyHash(): BodyHash {
  const hash = createHash('sha256');
  const out = Buffer.allocUnsafe(bufferBytes);
  let at = 0;
  /** Ends of lines that count only if something follows: at the end, all but one are dropped. */
  let lineEnds = 0;
  let hasSpace = false;
  let hasReturn = false;
  let isEmpty = true;

  const flush = () => {
    hash.update(out.subarray(0, at));
    at = 0;
  };
  /** What was held back, now that something follows it. */
  const release = () => {
    for (; lineEnds > 0; lineEnds--) {
      if (at > bufferBytes - 8) flush();
      out[at++] = carriageReturn;
      out[at++] = lineFeed;
    }
    if (hasSpace) out[at++] = space;
    hasSpace = false;
    isEmpty = false;
  };
  const put = (byte: number) => {
    if (lineEnds > 0 || hasSpace || isEmpty) release();
    if (at > bufferBytes - 8) flush();
    out[at++] = byte;
  };

  return {
    update: (chunk) => {
      for (let from = 0; from < chunk.length; from++) {
        const byte = chunk[from]!;
        if (hasReturn) {
          hasReturn = false;
          if (byte === lineFeed) {
            hasSpace = false;
            lineEnds += 1;
            continue;
          }
          put(carriageReturn);
        }
        if (byte === carriageReturn) hasReturn = true;
        else if (byte === space || byte === tab) hasSpace = true;
        else put(byte);
      }
    },
    digest: () => {
      if (hasReturn) put(carriageReturn);
      flush();
      if (!isEmpty) hash.update('\r\n');
      return hash.digest();
    },
  };
}

/** What is signed, where it is there. From is signed once more than it stands there: nobody can add another. */
const signedFields = [
  ...['from', 'to', 'cc', 'subject', 'date', 'message-id', 'reply-to', 'mime-version', 'content-type', 'content-transfer-encoding'],
  ...['list-unsubscribe', 'list-unsubscribe-post', 'in-reply-to', 'references'],
];
const isSigned = new Set(signedFields);

/** The same field again and again makes a long list; past this many, those nearest to the body count. */
const mostOfOne = 10;

interface SignedPart {
  names: string[];
  text: string;
}

/** The fields to be signed, in the order in which h= names them, as `relaxed` sees them. */
function canonicalize(header: string): SignedPart {
  const found = new Map<string, string[]>();
  for (const field of header.split(/\r\n(?![ \t])/)) {
    const colon = field.indexOf(':');
    if (colon <= 0) continue;
    const name = field.slice(0, colon).trimEnd().toLowerCase();
    if (!isSigned.has(name)) continue;
    const line = `${name}:${relaxValue(field.slice(colon + 1))}\r\n`;
    const others = found.get(name);
    if (others === undefined) found.set(name, [line]);
    else others.push(line);
  }
  const names: string[] = [];
  let text = '';
  for (const name of signedFields) {
    // RFC 6376 5.4.2: of several, the last one first.
    const lines = found.get(name)?.reverse().slice(0, mostOfOne) ?? [];
    for (const line of lines) {
      names.push(name);
      text += line;
    }
    if (name === 'from') names.push(name);
  }
  return { names, text };
}

const relaxValue = (value: string) =>
  value
    .replace(/\r\n/g, '')
    .replace(/[ \t]+/g, ' ')
    .replace(/^ | $/g, '');

export interface SigningKey {
  selector: string;
  /** RSA or ed25519; parsed once, since reading a key costs four signatures. */
  key: KeyObject;
}

export interface Signing {
  /** The header with the empty line behind it or without. */
  headerBytes: Uint8Array;
  bodyHash: Uint8Array;
  domain: string;
  keys: readonly SigningKey[];
  /** Seconds since 1970. */
  at: number;
}

/** The DKIM-Signature lines, one for each key, to be put before the header. */
export async function signHeaders({ headerBytes, bodyHash, domain, keys, at }: Signing): Promise<Buffer> {
  const bytes = Buffer.from(headerBytes.buffer, headerBytes.byteOffset, headerBytes.byteLength);
  const { names, text } = canonicalize(bytes.toString('latin1'));
  const signed = foldNames(names);
  const hash = Buffer.from(bodyHash.buffer, bodyHash.byteOffset, bodyHash.byteLength).toString('base64');
  const lines = await Promise.all(
    keys.map(async ({ selector, key }) => {
      const algorithm = key.asymmetricKeyType === 'ed25519' ? 'ed25519-sha256' : 'rsa-sha256';
      const value = `v=1; a=${algorithm}; c=relaxed/relaxed; d=${domain}; s=${selector};\r\n t=${at}; h=${signed};\r\n bh=${hash};\r\n b=`;
      const signature = await signText(`${text}dkim-signature:${relaxValue(value)}`, key);
      return `DKIM-Signature: ${value}${fold(signature)}\r\n`;
    }),
  );
  return Buffer.from(lines.join(''), 'latin1');
}

function signText(text: string, key: KeyObject): Promise<string> {
  const data = Buffer.from(text, 'latin1');
  // RFC 8463 3: ed25519 signs the hash. A fifteenth of a millisecond is not worth a thread.
  if (key.asymmetricKeyType === 'ed25519') {
    return Promise.resolve(sign(null, createHash('sha256').update(data).digest(), key).toString('base64'));
  }
  return new Promise((resolve, reject) => {
    sign('sha256', data, key, (error, signature) => (error ? reject(error) : resolve(signature.toString('base64'))));
  });
}

const fold = (text: string) => text.replace(/.{72}(?=.)/g, '$&\r\n ');

/** `h=` in lines below 78 characters; folded after a colon. */
function foldNames(names: readonly string[]): string {
  let length = 20;
  return names
    .map((name, at) => {
      const part = at === names.length - 1 ? name : `${name}:`;
      length += part.length;
      if (length < 76) return part;
      length = 1 + part.length;
      return `\r\n ${part}`;
    })
    .join('');
}
