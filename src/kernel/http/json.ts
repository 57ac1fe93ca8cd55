import { Refusal } from '../errors.ts';
import type { Steps } from '../steps.ts';

export interface JsonLimits {
  /** The limit of values and field names, at any depth; and of lists and objects, since nested ones have no commas. */
  values: number;
  /** Bytes parsed at once: by default what takes a millisecond or two. */
  pieceBytes?: number;
}

const maxDepth = 64;
/** A list or an object takes as long to parse as this many bytes of text. */
const bracketWeight = 30;
/**
 * The limit of fields in one object. A very large object is rebuilt whole each time it outgrows its memory, which cannot be done in steps.
 */
const maxFields = 50_000;
/** Bytes scanned before the loop yields. */
const yieldEveryBytes = 65_536;
/** A longer single number, name or run of spaces is refused: no client means it. */
const maxTokenBytes = 1_048_576;

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

const letterU = 0x75;
const byteOrderMark = Buffer.from('\uFEFF');

/** Parses JSON after counting its parts. */
export function readJson(bytes: Buffer, limits: JsonLimits): unknown {
  const steps = readJsonInSteps(bytes, limits);
  for (;;) {
    const { done, value } = steps.next();
    if (done) return value;
  }
}

/**
 * Parses JSON after counting its parts. A megabyte of two-letter names takes three seconds to validate field by field. So a body with too
 * many parts is refused by counting its commas: a millisecond for each megabyte. The same scan finds the lists, objects and strings that
 * are too large to parse at once, and where to cut them.
 */
export function* readJsonInSteps(sent: Buffer, limits: JsonLimits): Steps<unknown> {
  const bytes = sent.subarray(sent.subarray(0, byteOrderMark.length).equals(byteOrderMark) ? byteOrderMark.length : 0);
  const [large] = yield* outline(bytes, limits);
  if (!large) return parse(decode(bytes));
  parse(textAround(bytes, large, 0, bytes.length));
  return yield* readLarge(bytes, large);
}

/** A list, an object or a string that is parsed in pieces. */
interface LargeValue {
  kind: 'list' | 'object' | 'string';
  /** After its opening bracket or quote. */
  begin: number;
  /** At its closing one. */
  end: number;
  /** The commas to cut at; in strings, the characters to cut before. A large value has a piece of its own. */
  cuts: number[];
  inner: LargeValue[];
}

/** A list or an object whose end has not been found yet. */
interface OpenContainer extends LargeValue {
  /** Where the current piece begins. */
  pieceBegin: number;
  lastComma: number;
  /** The weight (bytes, and brackets with their weight) before it, before the current piece, and before the last comma. */
  beginWeight: number;
  pieceWeight: number;
  commaWeight: number;
  /** The fields of an object so far, without the last one. */
  fields: number;
  /** Whether the current piece holds a large value. */
  holdsLarge: boolean;
}

const open = (kind: 'list' | 'object', begin: number, weight: number): OpenContainer => ({
  kind,
  begin,
  end: -1,
  cuts: [],
  inner: [],
  pieceBegin: begin,
  lastComma: -1,
  beginWeight: weight,
  pieceWeight: weight,
  commaWeight: weight,
  fields: 0,
  holdsLarge: false,
});

/** Counts the parts and returns the large values. Brackets match from here on. */
function* outline(bytes: Buffer, { values: maxValues, pieceBytes = 131_072 }: JsonLimits): Steps<LargeValue[]> {
  let current = open('list', 0, 0);
  const outerStack: OpenContainer[] = [];
  let parts = 1;
  let brackets = 0;
  let yieldAt = yieldEveryBytes;
  for (let at = 0; at < bytes.length; at++) {
    const byte = bytes[at];
    if (byte === quote) {
      const end = endOfString(bytes, at + 1, at + pieceBytes);
      at = bytes[end] === quote ? end : yield* skipLongString(bytes, at + 1, current, pieceBytes);
    } else if (byte === comma || byte === colon) {
      if (++parts > maxValues) throw new Refusal(400, 'invalid', `the body has more than ${maxValues} fields and values`);
      if (byte === comma) onComma(current, at, at + brackets * bracketWeight, pieceBytes);
    } else if (byte === openList || byte === openObject) {
      if (outerStack.length >= maxDepth) throw new Refusal(400, 'invalid', 'the body is nested too deeply');
      if (++brackets > maxValues) throw new Refusal(400, 'invalid', `the body has more than ${maxValues} lists and objects`);
      outerStack.push(current);
      current = open(byte === openList ? 'list' : 'object', at + 1, at + brackets * bracketWeight);
    } else if (byte === closeList || byte === closeObject) {
      const outer = outerStack.pop();
      if (!outer || (current.kind === 'list') !== (byte === closeList)) throw notJson();
      current.end = at;
      if (at + brackets * bracketWeight - current.beginWeight >= pieceBytes) addLarge(outer, current);
      current = outer;
    }
    if (at + brackets * bracketWeight >= yieldAt) {
      yieldAt = at + brackets * bracketWeight + yieldEveryBytes;
      yield;
    }
  }
  if (outerStack.length > 0) throw notJson();
  return current.inner;
}

function onComma(here: OpenContainer, at: number, weight: number, pieceBytes: number): void {
  if (here.kind === 'object' && ++here.fields >= maxFields)
    throw new Refusal(400, 'invalid', `an object in the body has more than ${maxFields} fields`);
  if (here.holdsLarge || weight - here.pieceWeight >= pieceBytes) cut(here, at, weight);
  here.lastComma = at;
  here.commaWeight = weight;
}

/** A large value has a piece of its own: the text before it is cut off now, the text after it at the next comma. */
function addLarge(outer: OpenContainer, large: LargeValue): void {
  if (outer.lastComma > outer.pieceBegin) cut(outer, outer.lastComma, outer.commaWeight);
  outer.holdsLarge = true;
  outer.inner.push(large);
}

function cut(here: OpenContainer, at: number, weight: number): void {
  here.cuts.push(at);
  here.pieceBegin = at + 1;
  here.pieceWeight = weight;
  here.holdsLarge = false;
}

/** Sets a long string apart, unless it is a field name, and returns its end. */
function* skipLongString(bytes: Buffer, begin: number, here: OpenContainer, pieceBytes: number): Steps<number> {
  const cuts: number[] = [];
  let at = begin;
  for (;;) {
    at = endOfString(bytes, at, at + pieceBytes);
    while ((bytes[at]! & 0xc0) === 0x80) at++; // in the middle of a character
    if (at >= bytes.length) throw notJson();
    if (bytes[at] === quote) break;
    cuts.push(at);
    yield;
  }
  let next = at + 1;
  while (isSpace(bytes[next])) next++;
  if (bytes[next] !== colon && cuts.length > 0) addLarge(here, { kind: 'string', begin, end: at, cuts, inner: [] });
  return at;
}

const isSpace = (byte: number | undefined) => byte === 0x20 || byte === 0x0a || byte === 0x0d || byte === 0x09;

function* readLongString(bytes: Buffer, { begin, end, cuts }: LargeValue): Steps<string> {
  const parts: string[] = [];
  let from = begin;
  for (const to of [...cuts, end]) {
    parts.push(parse(`"${decode(bytes.subarray(from, to))}"`) as string);
    from = to;
    yield;
  }
  return parts.join('');
}

function* readLarge(bytes: Buffer, large: LargeValue): Steps<unknown> {
  if (large.kind === 'string') return yield* readLongString(bytes, large);
  const isList = large.kind === 'list';
  const list: unknown[] = [];
  const object = {};
  for (const { from, to, inner } of piecesOf(large)) {
    const text = inner ? textAround(bytes, inner, from, to) : decode(bytes.subarray(from, to));
    const piece = parse(isList ? `[${text}]` : `{${text}}`) as object;
    const names = isList ? undefined : Object.keys(piece);
    const count = (names ?? (piece as unknown[])).length;
    if (inner ? count !== 1 : count === 0 && large.cuts.length > 0) throw notJson(); // empty between two commas
    yield;
    const whole = inner && (yield* readLarge(bytes, inner));
    if (!names) for (const value of piece as unknown[]) list.push(inner ? whole : value);
    else for (const name of names) setField(object, name, inner ? whole : (piece as Record<string, unknown>)[name]);
  }
  return isList ? list : object;
}

function* piecesOf({ begin, end, cuts, inner }: LargeValue): Generator<{ from: number; to: number; inner: LargeValue | undefined }> {
  let from = begin;
  let next = 0;
  for (const to of [...cuts, end]) {
    const isHere = next < inner.length && inner[next]!.begin < to;
    yield { from, to, inner: isHere ? inner[next++] : undefined };
    from = to + 1;
  }
}

/** A piece with its large value replaced by a small one. */
const textAround = (bytes: Buffer, { begin, end }: LargeValue, from: number, to: number) =>
  `${decode(bytes.subarray(from, begin - 1))} null ${decode(bytes.subarray(end + 1, to))}`;

/** `__proto__` is a name like any other. */
function setField(object: object, name: string, value: unknown): void {
  if (name === '__proto__') Object.defineProperty(object, name, { value, enumerable: true, configurable: true, writable: true });
  else (object as Record<string, unknown>)[name] = value;
}

/** The end of the string, starting at the first byte of a character or an escape; or the first such byte at or after `limit`. */
function endOfString(bytes: Buffer, begin: number, limit: number): number {
  const end = Math.min(limit, bytes.length);
  let at = begin;
  while (at < end && bytes[at] !== quote) at += bytes[at] !== backslash ? 1 : bytes[at + 1] === letterU ? 6 : 2;
  return at;
}

function decode(bytes: Buffer): string {
  if (bytes.length > maxTokenBytes)
    throw new Refusal(400, 'invalid', 'the body has a megabyte of space, or a name or a number of that length');
  try {
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes);
  } catch {
    throw notJson();
  }
}

function parse(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    throw notJson();
  }
}

const notJson = () => new Refusal(400, 'invalid', 'the body is not valid JSON');
