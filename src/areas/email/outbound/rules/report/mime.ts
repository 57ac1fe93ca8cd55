import { decodeBody } from './decode.ts';
import { type Fields, fieldOf, readFields } from './fields.ts';

/** A leaf part: its declared type and its undecoded bytes as latin1. */
export interface Part {
  /** In lower case, without parameters. */
  type: string;
  charset: string;
  encoding: string;
  fields: Fields;
  raw: string;
}

/** Bytes beyond this limit are ignored. */
const maxBytes = 1024 * 1024;
const maxDepth = 8;
const maxParts = 100;
/** Decoded text of one part. */
const maxTextBytes = 64 * 1024;

export interface Mail {
  fields: Fields;
  parts: Part[];
}

/** Parses any bytes; input that is no mail becomes one text part. Embedded messages are leaves, since the reporter did not write their content. */
export function readMail(bytes: Uint8Array): Mail {
  const text = Buffer.from(bytes.buffer, bytes.byteOffset, Math.min(bytes.byteLength, maxBytes)).toString('latin1').replace(/\r\n?/g, '\n');
  const parts: Part[] = [];
  const fields = gatherParts(text, 0, parts);
  return { fields, parts };
}

function gatherParts(text: string, depth: number, parts: Part[]): Fields {
  const { fields, rest } = readFields(text);
  const { type, parameters } = readType(fieldOf(fields, 'content-type'));
  const boundary = parameters.get('boundary');
  const pieces = type.startsWith('multipart/') && boundary && depth < maxDepth ? splitAt(rest, boundary) : [];
  if (pieces.length > 0) {
    for (const piece of pieces) {
      if (parts.length >= maxParts) break;
      gatherParts(piece, depth + 1, parts);
    }
    return fields;
  }
  parts.push({
    type: type.startsWith('multipart/') ? 'text/plain' : type,
    charset: parameters.get('charset') ?? '',
    encoding: (fieldOf(fields, 'content-transfer-encoding') ?? '').trim().toLowerCase(),
    fields,
    raw: rest,
  });
  return fields;
}

/** The parts between boundary lines. */
function splitAt(text: string, boundary: string): string[] {
  const mark = `\n--${boundary}`;
  const pieces: string[] = [];
  const padded = `\n${text}`;
  let from = -1;
  for (let at = padded.indexOf(mark); at >= 0 && pieces.length < maxParts; at = padded.indexOf(mark, at + 1)) {
    if (from >= 0) pieces.push(padded.slice(from, at));
    const end = padded.indexOf('\n', at + 1);
    from = end < 0 ? padded.length : end + 1;
    if (padded.startsWith('--', at + mark.length)) return pieces;
  }
  if (from >= 0 && pieces.length < maxParts) pieces.push(padded.slice(from));
  return pieces;
}

function readType(value: string | undefined): { type: string; parameters: Map<string, string> } {
  const parameters = new Map<string, string>();
  const [first = '', ...rest] = (value ?? '').slice(0, 2_000).split(';');
  for (const piece of rest.slice(0, 20)) {
    const at = piece.indexOf('=');
    if (at < 0) continue;
    const name = piece.slice(0, at).trim().toLowerCase();
    if (!parameters.has(name))
      parameters.set(
        name,
        piece
          .slice(at + 1)
          .trim()
          .replace(/^"([^"]*)".*$/s, '$1'),
      );
  }
  return { type: first.trim().toLowerCase().split(/\s/)[0] || 'text/plain', parameters };
}

/** The decoded, bounded text of a part. */
export const textOf = ({ raw, encoding, charset, type }: Part): string =>
  decodeBody(raw.slice(0, 2 * maxTextBytes), encoding, charset, type === 'text/html').slice(0, maxTextBytes);
