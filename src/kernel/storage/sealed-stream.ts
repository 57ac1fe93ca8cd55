import { createCipheriv, createDecipheriv, randomBytes } from 'node:crypto';

// Streams of any length, sealed in pieces of bounded size with AES-256-GCM. Each stream has a random key of its own, which its row holds sealed
// (`Secrets`): a rotation of the installation's key seals that row anew, and no stored byte changes.
//
// The nonce is the number of the piece and whether it is the last one, so pieces cannot be swapped, repeated or left out, and a stream that was
// cut off is noticed even at the border of a piece. `where` binds it to its row.

/** Of a sealed piece's content. */
const pieceBytes = 2 ** 20;
const tagBytes = 16;

/** As text, for `Secrets.seal`. */
export const newStreamKey = (): string => randomBytes(32).toString('base64');

/** The stream is cut off, was changed, or was sealed with another key or for another row. */
export class SealBroken extends Error {
  constructor(options?: ErrorOptions) {
    super('it is cut off, was changed, or was sealed for something else', options);
    this.name = 'SealBroken';
  }
}

function nonceOf(number: number, isLast: boolean): Buffer {
  const nonce = Buffer.alloc(12);
  nonce.writeUIntBE(number, 4, 6);
  nonce[11] = isLast ? 1 : 0;
  return nonce;
}

/** Yields the body in buffers of `size` bytes, and tells which one is the last; the last one may be shorter, or empty. */
async function* inPieces(body: AsyncIterable<Uint8Array>, size: number): AsyncGenerator<{ piece: Buffer; isLast: boolean }> {
  let filling = Buffer.allocUnsafeSlow(size);
  let filled = 0;
  for await (const chunk of body) {
    for (let taken = 0; taken < chunk.length; ) {
      // A full piece waits until more comes: only then is it not the last one.
      if (filled === size) {
        yield { piece: filling, isLast: false };
        filling = Buffer.allocUnsafeSlow(size);
        filled = 0;
      }
      const part = chunk.subarray(taken, taken + size - filled);
      filling.set(part, filled);
      filled += part.length;
      taken += part.length;
    }
  }
  yield { piece: filling.subarray(0, filled), isLast: true };
}

export async function* sealStream(key: string, where: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let number = 0;
  for await (const { piece, isLast } of inPieces(body, pieceBytes)) {
    const cipher = createCipheriv('aes-256-gcm', Buffer.from(key, 'base64'), nonceOf(number++, isLast)).setAAD(Buffer.from(where));
    yield Buffer.concat([cipher.update(piece), cipher.final(), cipher.getAuthTag()]);
  }
}

/** Yields only bytes that are as they were sealed; throws SealBroken where they are not. */
export async function* unsealStream(key: string, where: string, body: AsyncIterable<Uint8Array>): AsyncGenerator<Buffer> {
  let number = 0;
  for await (const { piece, isLast } of inPieces(body, pieceBytes + tagBytes)) {
    if (piece.length < tagBytes) throw new SealBroken();
    const end = piece.length - tagBytes;
    const decipher = createDecipheriv('aes-256-gcm', Buffer.from(key, 'base64'), nonceOf(number++, isLast))
      .setAAD(Buffer.from(where))
      .setAuthTag(piece.subarray(end));
    const opened = decipher.update(piece.subarray(0, end));
    try {
      decipher.final();
    } catch (error) {
      throw new SealBroken({ cause: error });
    }
    yield opened;
  }
}
