import { createHash, hash, type KeyObject, sign } from 'node:crypto';

// DKIM (RFC 6376), relaxed/relaxed, with RSA (RFC 8301) and ed25519 (RFC 8463). Signing is half of the cost of sending, hence this
// implementation: keys stay parsed, the body is hashed once at acceptance, and the header is canonicalized once for both signatures.

const carriageReturn = 0x0d;
const lineFeed = 0x0a;
const space = 0x20;
const tab = 0x09;
const bufferBytes = 16_384;

/** Text that `relaxed` changes: repeated spaces, spaces before a line end, and tabs. */
const changedByRelaxed = /\t| (?: |\r\n)/;

/** Shared by all hashes: each call flushes it into its hash before it returns. */
const scratch = Buffer.allocUnsafeSlow(bufferBytes);

/** Hashes a body in relaxed canonicalization (RFC 6376 3.4.4), for any chunking. */
export class BodyHash {
  readonly #hash = createHash('sha256');
  /** Held-back line ends: they count only if text follows, since trailing empty lines are dropped. */
  #lineEnds = 0;
  #hasSpace = false;
  #hasReturn = false;
  #isEmpty = true;
  #at = 0;

  update(chunk: Buffer) {
    let begin = 0;
    let end = chunk.length;
    while (begin < end && chunk[begin]! <= space) begin++;
    while (end > begin && chunk[end - 1]! <= space) end--;
    if (changedByRelaxed.test(chunk.toString('latin1', begin, end))) return this.#canonicalize(chunk);
    // Whitespace at both ends may depend on neighbouring chunks; the text between needs no change.
    this.#canonicalize(chunk.subarray(0, begin + 1));
    if (end > begin + 1) this.#hash.update(chunk.subarray(begin + 1, end));
    this.#canonicalize(chunk.subarray(Math.max(begin + 1, end)));
  }

  #canonicalize(chunk: Buffer) {
    const { length } = chunk;
    // Fast path: a plain byte after a plain byte only needs these two locals.
    let at = 0;
    let isPlain = false;
    for (let from = 0; from < length; from++) {
      const byte = chunk[from]!;
      if (byte > space && isPlain && at < bufferBytes) {
        scratch[at++] = byte;
        continue;
      }
      this.#at = at;
      isPlain = this.#take(byte);
      at = this.#at;
    }
    this.#at = at;
    this.#flush();
  }

  digest(): Buffer {
    if (this.#hasReturn) this.#put(carriageReturn);
    this.#flush();
    if (!this.#isEmpty) this.#hash.update('\r\n');
    return this.#hash.digest();
  }

  /** True if no whitespace or line end is held back afterwards. */
  #take(byte: number): boolean {
    if (this.#hasReturn) {
      this.#hasReturn = false;
      if (byte === lineFeed) {
        this.#hasSpace = false;
        this.#lineEnds += 1;
        return false;
      }
      this.#put(carriageReturn);
    }
    if (byte === carriageReturn) this.#hasReturn = true;
    else if (byte === space || byte === tab) this.#hasSpace = true;
    else {
      this.#put(byte);
      return true;
    }
    return false;
  }

  /** Writes held-back line ends and space, then the byte. */
  #put(byte: number) {
    for (; this.#lineEnds > 0; this.#lineEnds--) {
      if (this.#at > bufferBytes - 8) this.#flush();
      scratch[this.#at++] = carriageReturn;
      scratch[this.#at++] = lineFeed;
    }
    if (this.#at > bufferBytes - 8) this.#flush();
    if (this.#hasSpace) scratch[this.#at++] = space;
    scratch[this.#at++] = byte;
    this.#hasSpace = false;
    this.#isEmpty = false;
  }

  #flush() {
    if (this.#at > 0) this.#hash.update(scratch.subarray(0, this.#at));
    this.#at = 0;
  }
}

export const makeBodyHash = () => new BodyHash();

/** Hashes a complete body. Most bodies are already canonical and are hashed directly. */
export function hashBody(body: Buffer): Buffer {
  const last = body.length - 3;
  const endsInOneLine = last >= 0 && body[last]! > space && body[last + 1] === carriageReturn && body[last + 2] === lineFeed;
  if (endsInOneLine && !changedByRelaxed.test(body.toString('latin1'))) return hash('sha256', body, 'buffer');
  const bodyHash = makeBodyHash();
  bodyHash.update(body);
  return bodyHash.digest();
}

/** Fields that are signed if present, in the order of h=. */
const signedFields = [
  'from',
  'to',
  'cc',
  'subject',
  'date',
  'message-id',
  'reply-to',
  'mime-version',
  'content-type',
  'content-transfer-encoding',
  'list-unsubscribe',
  'list-unsubscribe-post',
  'in-reply-to',
  'references',
];
const isSigned = new Set(signedFields);
/** Oversigned: a field of this name that is added in transit breaks the signature (RFC 6376 8.15). */
const isOversigned = new Set(['from', 'to', 'subject', 'reply-to', 'mime-version', 'content-type']);

/** Bounds h= for repeated fields; those nearest to the body are signed. */
const maxSignedPerName = 10;

interface SignedPart {
  names: string[];
  text: string;
}

/** The signed fields in relaxed form, in the order of h=. */
function canonicalize(header: string): SignedPart {
  const found = new Map<string, string[]>();
  for (let from = 0; from < header.length; ) {
    const end = endOfField(header, from);
    const colon = header.indexOf(':', from);
    const name = colon > from && colon < end ? header.slice(from, colon).trimEnd().toLowerCase() : '';
    if (isSigned.has(name)) {
      const line = `${name}:${relaxValue(header.slice(colon + 1, end))}\r\n`;
      const others = found.get(name);
      if (others === undefined) found.set(name, [line]);
      else others.push(line);
    }
    from = end + 2;
  }
  const names: string[] = [];
  let text = '';
  for (const name of signedFields) {
    const lines = found.get(name);
    // RFC 6376 5.4.2: of several, the last one first.
    for (let n = lines?.length ?? 0, left = maxSignedPerName; n > 0 && left > 0; n--, left--) {
      names.push(name);
      text += lines![n - 1];
    }
    if (isOversigned.has(name) && (lines?.length ?? 0) <= maxSignedPerName) names.push(name);
  }
  return { names, text };
}

/** End of the field, including its folded lines. */
function endOfField(header: string, from: number): number {
  let end = header.indexOf('\r\n', from);
  while (end >= 0 && isBlank(header.charCodeAt(end + 2))) end = header.indexOf('\r\n', end + 2);
  return end < 0 ? header.length : end;
}

const isBlank = (code: number) => code === space || code === tab;

/** Collapses spaces and tabs, removes line ends. Most values need neither. */
const relaxValue = (value: string) => {
  const text = relaxable.test(value) ? value.replaceAll('\r\n', '').replace(/[ \t]+/g, ' ') : value;
  return text.slice(text.startsWith(' ') ? 1 : 0, text.endsWith(' ') && text.length > 1 ? -1 : undefined);
};
const relaxable = /\r\n|\t| {2}/;

export interface SigningKey {
  selector: string;
  /** RSA or ed25519; kept parsed, since parsing costs as much as four signatures. */
  key: KeyObject;
}

export interface Signing {
  /** With or without the empty line at the end. */
  headerBytes: Uint8Array;
  bodyHash: Uint8Array;
  domain: string;
  keys: readonly SigningKey[];
  /** Seconds since 1970. */
  at: number;
}

/** One DKIM-Signature field per key, to prepend to the header. ASCII only. */
export async function signHeaders({ headerBytes, bodyHash, domain, keys, at }: Signing): Promise<string> {
  const { names, text } = canonicalize(asBuffer(headerBytes).toString('latin1'));
  const rest = `;\r\n t=${at}; h=${foldNames(names)};\r\n bh=${asBuffer(bodyHash).toString('base64')};\r\n b=`;
  const values = keys.map(({ selector, key }) => {
    const algorithm = key.asymmetricKeyType === 'ed25519' ? 'ed25519-sha256' : 'rsa-sha256';
    return `v=1; a=${algorithm}; c=relaxed/relaxed; d=${domain}; s=${selector}${rest}`;
  });
  // Relaxed form of our own field: it has single spaces, so only line ends are removed.
  const signatures = await Promise.all(
    values.map((value, n) => signText(`${text}dkim-signature:${value.replaceAll('\r\n', '')}`, keys[n]!.key)),
  );
  let lines = '';
  for (const [n, value] of values.entries()) lines += `DKIM-Signature: ${value}${fold(signatures[n]!)}\r\n`;
  return lines;
}

const asBuffer = (bytes: Uint8Array): Buffer =>
  Buffer.isBuffer(bytes) ? bytes : Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function signText(text: string, key: KeyObject): Promise<string> | string {
  const data = Buffer.from(text, 'latin1');
  // RFC 8463 3: ed25519 signs the hash. It takes 0.07 ms, which is not worth a thread.
  if (key.asymmetricKeyType === 'ed25519') return sign(null, hash('sha256', data, 'buffer'), key).toString('base64');
  return new Promise((resolve, reject) => {
    sign('sha256', data, key, (error, signature) => (error ? reject(error) : resolve(signature.toString('base64'))));
  });
}

function fold(text: string): string {
  let lines = text.slice(0, 72);
  for (let at = 72; at < text.length; at += 72) lines += `\r\n ${text.slice(at, at + 72)}`;
  return lines;
}

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
