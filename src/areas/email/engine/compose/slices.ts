import { Readable } from 'node:stream';
import { invalid } from '../../../../kernel/errors.ts';
import { yieldToLoop } from '../../../../kernel/yielding.ts';

// Megabytes are worked on in slices, each in a turn of its own, so that nobody else waits for them.

/** Characters of a slice; a multiple of four, so that base64 can be cut there. */
const sliceLength = 131_072;
/** What is shorter than a slice is done at once. */
export const isLarge = (text: string): boolean => text.length > sliceLength;

/** What base64 says. Line breaks in it are taken; anything else that is not base64 is refused. */
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
  // Node passes over what is no base64, and ends at a padding: either way there are fewer bytes than there must be.
  if (unpadded.length % 4 === 1 || bytes.length !== Math.floor((unpadded.length * 3) / 4)) invalid(`${field} is not valid base64`);
  return bytes;
}

/** Given out piece by piece, a turn between them. */
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

/** A text with CRLF at the end of each line, as bytes. */
export function* sliceText(text: string): Generator<Buffer> {
  let at = 0;
  while (at < text.length) {
    let end = Math.min(at + sliceLength, text.length);
    // Neither a line end nor a character of two units is cut in half.
    while (end < text.length && /[\r\ud800-\udbff]/.test(text[end - 1]!)) end++;
    yield Buffer.from(withLineEnds(text.slice(at, end)));
    at = end;
  }
}

export const withLineEnds = (text: string): string => text.replaceAll(/\r\n|\r|\n/g, '\r\n');
