import fc from 'fast-check';

// What fast-check's own `unit: 'binary'` and `webUrl` draw from. Those first list every character there is, and keep the list for as long as
// the process lives: almost two seconds of CPU, and a million strings that each collection of garbage goes through.

const surrogates = { first: 0xd800, count: 0x800 };

const textOf = (n: number) => String.fromCodePoint(n < surrogates.first ? n : n + surrogates.count);

function numberOf(text: unknown): number {
  const point = typeof text === 'string' ? text.codePointAt(0) : undefined;
  if (point === undefined || text !== String.fromCodePoint(point)) throw new Error('not a character');
  if (point < surrogates.first) return point;
  if (point < surrogates.first + surrogates.count) throw new Error('half a character');
  return point - surrogates.count;
}

/** Any character of Unicode. */
const character = fc.nat({ max: 0x10ffff - surrogates.count }).map(textOf, numberOf);

export const anyText = (constraints: Omit<fc.StringConstraints, 'unit'> = {}) => fc.string({ ...constraints, unit: character });

const plain = [...`abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-._~!$&'()*+,;=:@`];
const segment = fc.string({
  unit: fc.oneof({ arbitrary: fc.constantFrom(...plain), weight: 10 }, { arbitrary: character.map(encodeURIComponent), weight: 1 }),
});

export const anyUrl = () =>
  fc
    .tuple(fc.constantFrom('http', 'https'), fc.webAuthority(), fc.array(segment, { maxLength: 5 }))
    .map(([scheme, authority, path]) => `${scheme}://${authority}${path.map((each) => `/${each}`).join('')}`);
