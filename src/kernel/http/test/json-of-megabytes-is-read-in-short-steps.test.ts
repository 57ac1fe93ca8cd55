import assert from 'node:assert/strict';
import { describe, test } from 'node:test';
import { isDeepStrictEqual } from 'node:util';
import fc from 'fast-check';
import { anyText } from '../../../../test/harness/any-text.ts';
import { readJson, readJsonInSteps } from '../json.ts';

const limits = { values: 10_000_000 };

/** The result of JSON.parse, or undefined if it throws. */
const native = (bytes: Buffer): { value: unknown } | undefined => {
  try {
    return { value: JSON.parse(new TextDecoder('utf-8', { fatal: true }).decode(bytes)) };
  } catch {
    return undefined;
  }
};
/** In pieces so small that a line of text has many. */
const inPieces = (bytes: Buffer, pieceBytes: number): { value: unknown } | undefined => {
  try {
    return { value: readJson(bytes, { ...limits, pieceBytes }) };
  } catch {
    return undefined;
  }
};
const sizes = [1, 3, 8, 20];

// Without escapes: Node 20's JSON.parse now and then takes one such name for another that it has seen before.
const name = fc.oneof(fc.stringMatching(/^[a-z]{0,3}$/), fc.constantFrom('__proto__', 'toString', 'ä', ',', '[{'));
const { value: anything } = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.oneof(fc.integer(), fc.boolean(), fc.constant(null), anyText()),
    fc.array(tie('value'), { maxLength: 6 }),
    fc.dictionary(name, tie('value'), { maxKeys: 6 }),
  ),
}));

describe('JSON of megabytes is read in short steps', () => {
  test('and says the same as when it is read at once', () => {
    fc.assert(
      fc.property(anything, fc.constantFrom(undefined, 1), fc.constantFrom(...sizes), (value, space, size) => {
        const bytes = Buffer.from(JSON.stringify(value, undefined, space));
        assert.deepEqual(inPieces(bytes, size), native(bytes));
      }),
      { numRuns: 500 },
    );
  });

  test('also when it is damaged: what is not JSON at once is not JSON in steps', () => {
    const whole = Buffer.from(
      '{"alerts":["xx",["x\\"x",{"a":"x","a":[1]},1,2],{"c":["x","x"]}],"x":{"y":-1e5,"z":[]}, "n":null, "€" : "€\\u20ac\\ud83d\\ude00😀" }',
    );
    for (let at = 0; at <= whole.length; at++)
      for (const damage of ['', ',', ':', ']', '}', '[', '{', '"', '\\', '1', ' ', 'n', '{}', '[1,2]', '\uFEFF'])
        for (const [kind, rest] of [['in place of', at + 1] as const, ['before', at] as const]) {
          const bytes = Buffer.concat([whole.subarray(0, at), Buffer.from(damage), whole.subarray(rest)]);
          const right = native(bytes);
          for (const size of sizes)
            if (!isDeepStrictEqual(inPieces(bytes, size), right)) assert.fail(`${damage} ${kind} ${at}, in pieces of ${size}: ${bytes}`);
        }
  });

  test('a mark of the byte order is passed over at the beginning alone', () => {
    for (const pieceBytes of [1, 100]) {
      assert.deepEqual(readJson(Buffer.from('\uFEFF["x","y"]'), { ...limits, pieceBytes }), ['x', 'y']);
      assert.throws(() => readJson(Buffer.from('["x",\uFEFF"y"]'), { ...limits, pieceBytes }), /not valid JSON/);
    }
  });

  test('and is looked for nowhere else', () => {
    const bytes = Buffer.alloc(1_000, 0xef); // the mark's first byte: to search for the mark among many takes a hundred milliseconds
    bytes.indexOf = () => assert.fail('all of it is searched');
    assert.throws(() => readJson(bytes, limits), /not valid JSON/);
  });

  test('empty space, a number or a name of megabytes, which cannot be cut, is refused', () => {
    for (const text of [`[${' '.repeat(2e6)}1]`, `${' '.repeat(2e6)}1`, `[1${'0'.repeat(2e6)}]`, `{"${'x'.repeat(2e6)}":1}`])
      assert.throws(() => readJson(Buffer.from(text), limits), /a megabyte of space, or a name or a number of that length/);
  });

  test('an object of very many fields, which cannot be made in steps, is refused before anything is read', () => {
    const ofMany = (many: number) =>
      Buffer.from(JSON.stringify({ a: [Object.fromEntries(Array.from({ length: many }, (_, i) => [`n${i}`, 0]))] }));
    assert.throws(() => readJson(ofMany(50_001), limits), /an object in the body has more than 50000 fields/);
    assert.equal(Object.keys((readJson(ofMany(50_000), limits) as { a: [object] }).a[0]).length, 50_000);
  });

  test('each step reads a piece, however deep the many values stand', () => {
    const many = Array.from({ length: 20_000 }, (_, i) => ({ name: `value ${i}`, at: i }));
    const [long, escaped, wide] = ['base64+/'.repeat(100_000), '"\\\u0000'.repeat(60_000), 'ä€😀'.repeat(60_000)];
    const strings = [long, { attachments: [{ content: long }, { content: escaped }] }, [wide, escaped]];
    const lists = [many, { alerts: many }, { a: [{ b: { c: many } }] }, Object.fromEntries(many.map((each) => [each.name, each]))];
    for (const value of [...lists, ...strings]) {
      const bytes = Buffer.from(JSON.stringify(value));
      const steps = readJsonInSteps(bytes, limits);
      let count = 0;
      let read = steps.next();
      for (; !read.done; read = steps.next()) count++;
      assert.deepEqual(read.value, value);
      assert.ok(count >= bytes.length / 200_000, `${count} steps for ${bytes.length} bytes`);
    }
  });
});

test('nested lists without a comma are counted, and few of them are read at once', (t) => {
  const nested = (depth: number) => '['.repeat(depth) + ']'.repeat(depth);
  const limits = { values: 100_000 };
  const read = (text: string) => {
    const steps = readJsonInSteps(Buffer.from(text), limits);
    for (let count = 1; ; count++) {
      const { done, value } = steps.next();
      if (done) return { value, count };
    }
  };
  assert.throws(() => read(`[${Array(2_000).fill(nested(60)).join(',')}]`), /more than 100000 lists and objects/);

  const text = `{"alerts":[${Array(1_600).fill(nested(60)).join(',')}]}`;
  const parsed = t.mock.method(JSON, 'parse').mock;
  const { value, count } = read(text);
  const most = Math.max(...parsed.calls.map((call) => String(call.arguments[0]).split('[').length - 1));
  assert.ok(most < 6_000, `${most} lists were read at once`);
  assert.ok(count > 40, `${count} steps`);
  parsed.restore();
  assert.deepEqual(value, JSON.parse(text));
});
