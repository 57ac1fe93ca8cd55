import { Refusal } from '../errors.ts';

export interface JsonLimits {
  /** Values and names of fields, at any depth. */
  values: number;
}

const deepest = 64;
const [quote, backslash, comma, colon, openList, openObject, closeList, closeObject] = [...Buffer.from('"\\,:[{]}')] as [
  number,
  number,
  number,
  number,
  number,
  number,
  number,
  number,
];

/**
 * Reads JSON whose parts were counted first. A megabyte of two-letter names takes three seconds to be judged field by field, so what has
 * more parts than anybody may send is refused by looking at its commas: a millisecond for each megabyte.
 */
export function readJson(bytes: Buffer, limits: JsonLimits): unknown {
  countParts(bytes, limits.values);
  try {
    return JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes));
  } catch {
    throw new Refusal(400, 'invalid', 'the body is not valid JSON');
  }
}

function countParts(bytes: Buffer, most: number): void {
  let parts = 1;
  let depth = 0;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) at = endOfString(bytes, at);
    else if (byte === comma || byte === colon) {
      if (++parts > most) throw new Refusal(400, 'invalid', `the body has more than ${most} fields and values`);
    } else if (byte === openList || byte === openObject) {
      if (++depth > deepest) throw new Refusal(400, 'invalid', 'the body is nested too deeply');
    } else if (byte === closeList || byte === closeObject) depth--;
  }
}

/** Where the string that begins here ends; behind the end of the bytes for one that does not. */
function endOfString(bytes: Buffer, begin: number): number {
  let at = begin + 1;
  while (at < bytes.length && bytes[at] !== quote) at += bytes[at] === backslash ? 2 : 1;
  return at;
}
