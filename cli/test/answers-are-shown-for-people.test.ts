import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Column } from '../../sdk/commands.ts';
import { age, bytes, duration } from '../../sdk/values.ts';
import { only } from '../output/arrange.ts';
import { type Look, lookOf } from '../output/look.ts';
import { formatted } from '../print.ts';
import { now } from './samples.ts';

const pipe: Look = { width: undefined, color: false, unicode: true, now };
const terminal: Look = { ...pipe, width: 80 };
const shown = (answer: object, columns: Record<string, Column[]> = {}, look = pipe, next: string[] = []) =>
  formatted(answer as Record<string, unknown>, { columns, next }, 'table', look);

test('a thing is a sheet: its name and state first, units, sections, and no empty fields', () => {
  const answer = {
    id: 'c_1',
    expiresAt: '2026-07-28T15:00:00.000Z',
    mesh: false,
    phone: null,
    usedBytes: 1536,
    timeoutMs: 10_000,
    datastore: { mode: 'shared', backups: true, empty: {} },
    roles: ['a', 'b'],
    none: [],
    phase: 'ready',
    acknowledgedBy: { kind: 'user', id: 'usr_1', label: 'Ann' },
    state: 'up',
    stateAt: '2026-07-28T11:00:00.000Z',
    name: 'prod',
    kubeconfig: 'a: 1\nb: 2\n',
    description: 'two\nlines',
  };
  assert.equal(
    shown(answer, {}, terminal),
    `name             prod
id               c_1
phase            ● ready
state            ● up
expires          2026-07-28 15:00:00Z (in 3h)
mesh             no
used             1.5 KiB
timeout          10s
roles            a, b
acknowledged by  Ann (usr_1)
state at         2026-07-28 11:00:00Z (60m ago)
description      two
                 lines

datastore
  mode     shared
  backups  yes

kubeconfig
a: 1
b: 2
`,
  );
});

test('lists are tables with their names, and a wrapped thing is shown as the thing', () => {
  const answer = {
    webhook: { id: 'wh_1', disabled: true },
    signingSecret: 'whsec_1',
    events: [{ kind: 'sent', scope: [{ role: 'x', more: 1 }, { role: 'y' }], detail: { a: 1, b: true } }],
    cursor: 'hidden',
  };
  assert.equal(
    shown(answer, { events: [{ key: 'kind', as: 'state' }, { key: 'name' }, { key: 'scope' }, { key: 'detail' }] }),
    'id              wh_1\ndisabled        yes\nsigning secret  whsec_1\n\nevents\nKIND  NAME  SCOPE  DETAIL\nsent  -     x, y   a=1 b=yes\n',
  );
});

test('what to type next follows on a terminal, if a shell takes it as it stands', () => {
  const next = ['clusters nodes list {name}', 'clusters list'];
  assert.match(
    shown({ name: 'prod' }, {}, terminal, next),
    /\nNext:\n {2}quarterdeck clusters nodes list prod\n {2}quarterdeck clusters list\n$/,
  );
  assert.doesNotMatch(shown({ name: '$(reboot)' }, {}, terminal, next), /nodes list/);
  assert.doesNotMatch(shown({ name: '-rf' }, {}, terminal, next), /nodes list/);
  assert.doesNotMatch(shown({ name: 'prod' }, {}, pipe, next), /Next/);
});

test('ages, durations and sizes are short', () => {
  const ago = (seconds: number) => age(now - seconds * 1000, now);
  assert.deepEqual([0, 5, 59, 60, 3600, 7200, 86_400, 200_000, 3 * 365 * 86_400].map(ago), [
    'now',
    '5s',
    '59s',
    '1m',
    '60m',
    '2h',
    '24h',
    '2d',
    '3y',
  ]);
  assert.deepEqual([-300, -7200].map(ago), ['in 5m', 'in 2h']);
  assert.deepEqual([-299.6, -0.4, 299.6].map(ago), ['in 5m', 'now', '4m'], 'an answer that took 0.4 s');
  assert.deepEqual([0, 45, 900, 5400, 86_400, 90_061].map(duration), ['0s', '45s', '15m', '1h30m', '1d', '1d1h']);
  assert.deepEqual([0, 1023, 1536, 10 * 2 ** 30, 2 ** 20 - 1, 1.25 * 2 ** 40].map(bytes), [
    '0 B',
    '1023 B',
    '1.5 KiB',
    '10 GiB',
    '1 MiB',
    '1.3 TiB',
  ]);
});

test('states have a sign and a colour on a terminal, a letter without UTF-8, and are bare on a pipe', () => {
  const states = { list: [{ state: 'up' }, { state: 'pending' }, { state: 'down' }, { state: 'deferred' }, { state: 'novel' }] };
  const columns = { list: [{ key: 'state' }] };
  assert.equal(shown(states, columns, terminal), 'STATE\n● up\n○ pending\n✗ down\n! deferred\n· novel\n');
  assert.equal(shown(states, columns, { ...terminal, unicode: false }), 'STATE\n+ up\no pending\nx down\n! deferred\n- novel\n');
  assert.equal(shown(states, columns, pipe), 'STATE\nup\npending\ndown\ndeferred\nnovel\n');
  assert.ok(shown(states, columns, { ...terminal, color: true }).includes('\u001b[32m● up\u001b[39m'));
});

test('colours and signs are used where the terminal has them', () => {
  const tty = { isTTY: true, columns: 100 };
  const utf8 = { LANG: 'en_US.UTF-8' };
  assert.deepEqual({ ...lookOf(tty, utf8), now }, { width: 100, color: true, unicode: true, now });
  assert.equal(lookOf(tty, { ...utf8, NO_COLOR: '1' }).color, false);
  assert.equal(lookOf(tty, { ...utf8, TERM: 'dumb' }).color, false);
  assert.equal(lookOf(tty, { ...utf8, LC_ALL: 'C' }).unicode, false);
  assert.deepEqual({ ...lookOf({}, utf8), now }, { width: undefined, color: false, unicode: true, now });
});

test('one field comes out bare, from the answer or from each in its list', () => {
  const columns = { tokens: [{ key: 'id' }] };
  assert.deepEqual(only({ id: 'x', key: 'secret' }, {}, 'key'), ['secret']);
  assert.deepEqual(only({ sendKey: { id: 'k', n: 3 } }, {}, 'sendKey.n'), ['3']);
  assert.deepEqual(only({ tokens: [{ id: 'a' }, { id: 'b' }] }, columns, 'id'), ['a', 'b']);
  assert.deepEqual(only({ tokens: [] }, columns, 'id'), []);
  assert.deepEqual(only({ tokens: [{ id: 'a' }], cursor: 'c' }, columns, 'cursor'), ['c']);
  assert.throws(() => only({ id: 'x' }, {}, 'nope'), /the answer has no nope; it has id/);
});

test('a few long cells go below their own rows before a whole column does', () => {
  const roles = [...Array.from({ length: 9 }, (_, n) => ({ id: `role.${n}`, name: 'Container registry administrator' }))];
  const long = { id: 'rol_01M7QNG2G0WZBMHMYZPS8W6KHK', name: 'viewer' };
  const columns = { roles: [{ key: 'id', as: 'id' as const }, { key: 'name' }] };
  const drawn = shown({ roles: [...roles, long] }, columns, { ...terminal, width: 60 }).split('\n');
  assert.deepEqual(drawn.slice(0, 2), ['ID      NAME', 'role.0  Container registry administrator']);
  assert.deepEqual(drawn.slice(-3), ['↓       viewer', '  id  rol_01M7QNG2G0WZBMHMYZPS8W6KHK', '']);
  const half = shown({ roles: [roles[0]!, long] }, columns, { ...terminal, width: 60 }).split('\n');
  assert.equal(half[1], 'role.0');
});
