import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { only, pretty } from '../show.ts';
import { fit, table } from '../table.ts';

const plain = (text: string) => text;

test('an object is shown field by field, what is nested with its path', () => {
  const answer = {
    id: 'c_1',
    expiresAt: '2026-07-28T09:00:00.000Z',
    mesh: false,
    phone: null,
    datastore: { mode: 'shared', backups: true },
    roles: ['a', 'b'],
    none: [],
    config: 'a: 1\nb: 2',
  };
  assert.equal(
    pretty(answer, {}, undefined),
    `id                 c_1
expires at         2026-07-28 09:00:00Z
mesh               no
phone              -
datastore mode     shared
datastore backups  yes
roles              a, b
none               -
config             a: 1
                   b: 2
`,
  );
});

test('several lists are tables with their names; what is nested in a row is told in short', () => {
  const answer = {
    current: '1',
    roles: [{ id: 'r', scope: [{ role: 'x', more: 1 }, { role: 'y' }], detail: { a: 1, b: true } }],
    cursor: 'hidden',
  };
  assert.equal(
    pretty(answer, { roles: ['id', 'name', 'scope', 'detail'] }, undefined),
    'current  1\n\nroles\nID  NAME  SCOPE  DETAIL\nr   -     x, y   a=1 b=yes\n',
  );
});

test('what others wrote cannot steer the terminal', () => {
  assert.equal(pretty({ name: '\u001b[2Jgone\u0007\u009b1m' }, {}, undefined), 'name  \\x1b[2Jgone\\x07\\x9b1m\n');
  assert.ok(!pretty({ tokens: [{ name: 'a\n\u001b[2J\rb' }] }, { tokens: ['name'] }, 80).includes('\u001b'));
});

test('one field comes out bare, from the answer or from each in its list', () => {
  const columns = { tokens: ['id'] };
  assert.equal(only({ id: 'x', key: 'secret' }, {}, 'key'), 'secret\n');
  assert.equal(only({ sendKey: { id: 'k', n: 3 } }, {}, 'sendKey.n'), '3\n');
  assert.equal(only({ tokens: [{ id: 'a' }, { id: 'b' }] }, columns, 'id'), 'a\nb\n');
  assert.equal(only({ tokens: [] }, columns, 'id'), '');
  assert.equal(only({ tokens: [{ id: 'a' }], cursor: 'c' }, columns, 'cursor'), 'c\n');
  assert.throws(() => only({ id: 'x' }, {}, 'nope'), /the answer has no nope; it has id/);
});

test('a table fits the terminal: columns are narrowed, then left out, and the first one stays whole', () => {
  fc.assert(
    fc.property(
      fc.array(fc.integer({ min: 1, max: 300 }), { minLength: 1, maxLength: 12 }),
      fc.integer({ min: 20, max: 250 }),
      (natural, available) => {
        const widths = fit(natural, available);
        const total = widths.reduce((sum, w) => sum + w + 2, -2);
        assert.equal(widths[0], natural[0]);
        assert.ok(total <= available || widths.length === 1);
        if (natural.reduce((sum, w) => sum + w + 2, -2) <= available) assert.deepEqual(widths, natural);
      },
    ),
  );
  assert.equal(
    table(['ID', 'NAME'], [['tok_1', 'a name that is long']], { width: 19, header: plain }),
    'ID     NAME\ntok_1  a name that…\n',
  );
  assert.equal(
    table(
      ['ID', 'NAME'],
      [
        ['tok_1', 'naïve 🚢'],
        ['tok_2', 'x'],
      ],
      { width: undefined, header: plain },
    ),
    'ID     NAME\ntok_1  naïve 🚢\ntok_2  x\n',
  );
});
