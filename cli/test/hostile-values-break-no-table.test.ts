import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import type { Column } from '../../sdk/commands.ts';
import type { Look } from '../output/look.ts';
import { displayWidth } from '../output/width.ts';
import { formatted } from '../print.ts';
import { printable } from '../printable.ts';
import { now } from './samples.ts';

const look = (width: number | undefined): Look => ({ width, color: false, unicode: true, now });
const columns: Record<string, Column[]> = {
  things: [{ key: 'id', as: 'id' }, { key: 'name' }, { key: 'note', as: 'text' }, { key: 'state' }],
};
const draw = (things: object[], width: number | undefined, output = 'table') => formatted({ things }, { columns }, output, look(width));
const row = (name: string, n = 0) => ({ id: `id_${n}`, name, note: 'fine', state: 'up' });

// What moves the cursor, turns the direction or hides text, besides the line breaks that the table makes itself.
const steers = /[^\P{Cc}\n]|[\p{Cf}\p{Zl}\p{Zp}\p{Cs}]/u;
const hostile = [
  '\u001b[2Jgone\u0007\u009b1m',
  'a\r\nb\tc',
  '\u202egnp.exe',
  'zero\u200bwidth\u200d\ufeff',
  '\u2066a\u2069',
  'lone\ud800',
  'tag\u{e0041}',
  'line\u2028break',
  `pile${'\u0301'.repeat(50)}`,
];

test('control characters, marks of direction and characters without width are shown escaped', () => {
  for (const name of hostile)
    for (const width of [20, 80, undefined]) {
      const text = draw([row(name)], width);
      assert.doesNotMatch(text, steers, JSON.stringify(text));
      assert.doesNotMatch(
        formatted({ name, [name]: name, list: [name], deep: { [name]: name } }, { columns: {} }, 'table', look(width)),
        steers,
      );
    }
  assert.equal(printable('\u001b[2J\u202e\u{e0041}'), '\\x1b[2J\\u202e\\u{e0041}');
  assert.equal(printable('naïve 🚢 中文 ✈\ufe0f'), 'naïve 🚢 中文 ✈\ufe0f');
});

test('a name with line breaks forges no line of a sheet', () => {
  for (const width of [80, undefined]) {
    const text = formatted({ name: 'web\nstate  up\n\nNext:\n  rm -rf /', state: 'down' }, { columns: {} }, 'table', look(width));
    assert.doesNotMatch(text, /^(state {2}up|Next)/m);
  }
});

test('on a terminal JSON, YAML and names do not steer it either, and say the same', () => {
  for (const name of hostile) {
    const things = [{ ...row(name), id: name }];
    assert.deepEqual(JSON.parse(draw(things, 80, 'json')), { things });
    for (const output of ['json', 'yaml', 'name']) assert.doesNotMatch(draw(things, 80, output).replaceAll('\t', ''), steers, output);
    assert.equal(draw(things, undefined, 'json'), `${JSON.stringify({ things }, null, 2)}\n`);
    assert.equal(draw(things, undefined, 'name'), `${name}\n`);
  }
});

test('wide glyphs, emoji and combining marks are measured as they are drawn', () => {
  const widths = { plain: 5, 中文: 4, 한국: 4, ｆｕｌｌ: 8, '🚢': 2, '✈\ufe0f': 2, 'e\u0301': 1, naïve: 5, '🇩🇪': 2, '…': 1, '👍🏽': 2 };
  for (const [text, width] of Object.entries(widths)) assert.equal(displayWidth(text), width, text);
  assert.equal(
    draw([row('中文'), row('e\u0301', 1), row('🚢 ship', 2)], undefined),
    'ID    NAME     NOTE  STATE\nid_0  中文     fine  up\nid_1  e\u0301        fine  up\nid_2  🚢 ship  fine  up\n',
  );
});

test('a value of 10,000 characters stands whole below its row, and the other rows stay as they were', () => {
  const long = 'x'.repeat(10_000);
  for (const width of [80, 200]) {
    const lines = draw([row('web'), row(long, 1), row('api', 2)], width).split('\n');
    assert.deepEqual(
      lines.filter((line) => line.includes(long)),
      [`  name  ${long}`],
    );
    assert.deepEqual(
      lines.filter((line) => !line.includes(long)),
      ['ID    NAME  NOTE  STATE', 'id_0  web   fine  ● up', 'id_1  ↓     fine  ● up', 'id_2  api   fine  ● up', ''],
    );
  }
  const piped = draw([row('web'), row(long, 1)], undefined).split('\n');
  assert.deepEqual(piped, ['ID    NAME  NOTE  STATE', 'id_0  web   fine  up', `id_1  ${long}  fine  up`, '']);
});

test('a value that is a dash is a value', () => {
  const long = 'x'.repeat(40);
  assert.match(draw([row(long), row('-', 1)], 30), /^id_1.*\n {2}name {2}-$/m);
  assert.doesNotMatch(draw([row(long), row('', 1)], 30), /^id_1.*\n {2}name/m);
});

test('a list of 200,000 rows is drawn', () => {
  const things = Array.from({ length: 200_000 }, () => ({ id: 'id_1' }));
  assert.equal(formatted({ things }, { columns: { things: [{ key: 'id' }] } }, 'table', look(80)).length, 3 + 5 * 200_000);
});

test('whatever the values, no table has a line beyond the terminal but for a value that is longer, and none is cut', () => {
  const glyph = fc.oneof(
    fc.constantFrom('a', '-', '中', '🚢', 'é', '\u202e', '\u001b', '\n'),
    fc.string({ unit: 'grapheme', maxLength: 1 }),
  );
  const value = fc.array(glyph, { maxLength: 150 }).map((parts) => parts.join(''));
  const things = fc.array(
    fc.record({ id: fc.stringMatching(/^[a-z]{1,30}$/), name: value, note: value, state: fc.constantFrom('up', 'down') }),
    { minLength: 1, maxLength: 6 },
  );
  fc.assert(
    fc.property(things, fc.integer({ min: 30, max: 200 }), (rows, width) => {
      const text = draw(rows, width);
      assert.doesNotMatch(text, steers);
      for (const { name } of rows) {
        const whole = printable(name).replaceAll(/[\n\t]/g, ' ');
        assert.ok(whole === '' || text.includes(whole.trimEnd()), JSON.stringify({ name, text }));
      }
      for (const line of text.split('\n'))
        assert.ok(
          displayWidth(line) <= width || rows.some(({ name, note }) => [name, note].some((v) => displayWidth(printable(v)) > width - 30)),
          line,
        );
    }),
    { numRuns: 200 },
  );
});
