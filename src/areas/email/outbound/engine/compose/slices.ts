import { Readable } from 'node:stream';
import { invalid } from '../../../../../kernel/errors.ts';
import { yieldToLoop } from '../../../../../kernel/yielding.ts';

// Large texts are processed in slices, one event-loop turn each, so that other requests are not delayed.

/** Characters of a slice; a multiple of four, so that base64 can be cut there. */
const sliceLength = 131_072;
/** Shorter texts are processed in one turn. */
export const isLarge = (text: string): boolean => text.length > sliceLength;

/** Decodes base64. White space is allowed; any other invalid character is refused. */
export async function decodeBase64(text: string, field: string): Promise<Buffer[]> {
  const pieces: Buffer[] = [];
  let rest = '';
  for (let at = 0; at < text.length; at += sliceLength) {
    if (at > 0) await yieldToLoop();
    const slice = rest + text.slice(at, at + sliceLength).replaceAll(/[\r\n\t ]+/g, '');
    const isLast = at + sliceLength >= text.length;
    const whole = isLast ? slice.length : slice.length - (slice.length % 4);
    rest = slice.slice(whole);
    pieces.push(decodeSlice(slice.slice(0, whole), isLast, field));
  }
  return pieces;
}

function decodeSlice(slice: string, isLast: boolean, field: string): Buffer {
  const unpadded = isLast ? slice.replace(/={1,2}$/, '') : slice;
  const bytes = Buffer.from(unpadded, 'base64');
  // Node skips invalid characters and stops at padding: either way there are fewer bytes than expected.
  if (unpadded.length % 4 === 1 || bytes.length !== Math.floor((unpadded.length * 3) / 4)) invalid(`${field} is not valid base64`);
  return bytes;
}

/** Yields to the event loop between the pieces. */
export const pieceByPiece = (pieces: Iterable<Buffer>): Readable =>
  Readable.from(
    (async function* () {
      for (const piece of pieces) {
        await yieldToLoop();
        yield piece;
      }
    })(),
    { objectMode: false, highWaterMark: sliceLength },
  );

/** The text's bytes, with CRLF line ends. */
export function* sliceText(text: string): Generator<Buffer> {
  let at = 0;
  while (at < text.length) {
    let end = Math.min(at + sliceLength, text.length);
    // Cuts neither a CRLF nor a surrogate pair in half.
    while (end < text.length && /[\r\ud800-\udbff]/.test(text[end - 1]!)) end++;
    yield Buffer.from(withLineEnds(text.slice(at, end)));
    at = end;
  }
}

export const withLineEnds = (text: string): string => text.replaceAll(/\r\n|\r|\n/g, '\r\n');
