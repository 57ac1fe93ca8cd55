import { isHeaderName, limits } from './limits.ts';

// Parses headers that the client composed. The text is latin1, one character per byte, so unchanged fields are forwarded byte for byte.

export interface HeaderField {
  /** In lower case. */
  name: string;
  /** With line ends and folding. */
  raw: string;
}

/** Why a message is refused, for its sender. */
export class Malformed {
  readonly why: string;

  constructor(why: string) {
    this.why = why;
  }
}

export const headerLimits = { bytes: 65_536, lines: 1_000 } as const;

/** Offset after the empty line that ends the header; -1: not in these bytes. */
export function endOfHeader(bytes: Buffer, from = 0): number {
  if (bytes.length >= 2 && bytes[0] === 0x0d && bytes[1] === 0x0a) return 2; // a message without a header
  const at = bytes.indexOf('\r\n\r\n', Math.max(0, from - 3), 'latin1');
  return at < 0 ? -1 : at + 4;
}

/** The fields, without the empty line at the end. */
export function readHeader(header: string): HeaderField[] | Malformed {
  const fields: HeaderField[] = [];
  let lines = 0;
  for (let at = 0; at < header.length; ) {
    const lineEnd = header.indexOf('\r\n', at);
    const end = lineEnd < 0 ? header.length : lineEnd;
    if (end === at) break;
    if (++lines > headerLimits.lines) return new Malformed(`the header has more than ${headerLimits.lines} lines`);
    if (end - at > limits.line) return new Malformed(`line ${lines} of the header is longer than ${limits.line} bytes`);
    const line = `${header.slice(at, end)}\r\n`;
    const isFolded = line[0] === ' ' || line[0] === '\t';
    const field = isFolded ? continueField(fields.pop(), line) : beginField(line);
    if (!field) return new Malformed(`line ${lines} of the header is no field: a field is a name, a colon and a value`);
    fields.push(field);
    at = end + 2;
  }
  return fields;
}

const continueField = (field: HeaderField | undefined, line: string): HeaderField | undefined =>
  field && { name: field.name, raw: field.raw + line };

function beginField(line: string): HeaderField | undefined {
  const name = line.slice(0, Math.max(0, line.indexOf(':'))).trimEnd();
  return isHeaderName(name) ? { name: name.toLowerCase(), raw: line } : undefined;
}

/** The unfolded value. Raw non-ASCII bytes are read as UTF-8. */
export const readValue = ({ raw }: HeaderField): string => {
  const text = /[\u0080-\u00ff]/.test(raw) ? Buffer.from(raw, 'latin1').toString('utf8') : raw;
  return text
    .slice(text.indexOf(':') + 1)
    .replaceAll('\r\n', '')
    .trim();
};

/** Decodes RFC 2047 words such as `=?utf-8?Q?caf=C3=A9?=`. Adjacent words are decoded together, since a character may be split between them. */
export function decodeWords(text: string): string {
  if (!text.includes('=?')) return text;
  return text.replaceAll(/=\?[^?\s]{1,60}\?[bq]\?[^?\s]*\?=(?:[ \t]+=\?[^?\s]{1,60}\?[bq]\?[^?\s]*\?=)*/gi, (run) => {
    const words = run.split(/[ \t]+/).map(decodeWord);
    let shown = '';
    for (let i = 0; i < words.length; ) {
      const { charset } = words[i]!;
      const bytes: Buffer[] = [];
      while (i < words.length && words[i]!.charset === charset) bytes.push(words[i++]!.bytes);
      shown += decodeBytes(Buffer.concat(bytes), charset);
    }
    return shown;
  });
}

function decodeWord(word: string): { charset: string; bytes: Buffer } {
  const [, charset = '', encoding = '', text = ''] = word.split('?');
  const bytes =
    encoding.toLowerCase() === 'b'
      ? Buffer.from(text, 'base64')
      : Buffer.from(
          text.replaceAll('_', ' ').replaceAll(/=([0-9a-f]{2})/gi, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
          'latin1',
        );
  return { charset: charset.split('*')[0]!.toLowerCase(), bytes };
}

function decodeBytes(bytes: Buffer, charset: string): string {
  try {
    return new TextDecoder(charset).decode(bytes);
  } catch {
    return bytes.toString('latin1'); // an unknown character set
  }
}

/** Bounded text without control characters, safe for PostgreSQL and the log. */
export const showable = (text: string, maxLength: number): string =>
  text
    .replaceAll(/\p{Cc}+/gu, ' ')
    .slice(0, maxLength)
    .toWellFormed()
    .trim();
