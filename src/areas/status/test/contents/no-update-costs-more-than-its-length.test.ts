import assert from 'node:assert/strict';
import { test } from 'node:test';
import { linked } from '../../views/render/linked.ts';
import { trimEndWhile } from '../../views/render/trim-end.ts';

/** As long as the contract lets an update be. */
const longest = 10_000;
const fill = (begin: string, filling: string, end: string) =>
  begin + filling.repeat(longest).slice(0, longest - begin.length - end.length) + end;

test('punctuation is looked at once, from the end', () => {
  let looks = 0;
  const isDot = (c: string) => {
    looks++;
    return c === '.';
  };
  assert.equal(trimEndWhile(fill('', '.', 'a'), isDot), fill('', '.', 'a'));
  assert.equal(looks, 1);
  assert.equal(trimEndWhile(fill('a', '.', ''), isDot), 'a');
  assert.equal(looks, 1 + longest);
});

test('a name that is too long for the web is not parsed, and is no link', (t) => {
  const canParse = t.mock.method(URL, 'canParse');
  const letters = Array.from({ length: longest - 7 }, (_, at) => String.fromCharCode(0x4e00 + at)).join('');
  for (const text of [`http://${letters}`, `http://${letters.slice(0, 64)}.example/x`, `http://a@${letters}`, `http:///${letters}`])
    assert.equal(linked(text), text);
  assert.deepEqual(
    canParse.mock.calls.filter(
      (call) => String(call.arguments[0]).length > 63 + 'http://.example'.length && !String(call.arguments[0]).startsWith('http:///'),
    ),
    [],
  );
  assert.match(linked(`http://${letters.slice(0, 20)}.example/${letters}`), /^<a /);
});

test('fifty updates of the greatest length are written with little work, whatever is in them', () => {
  const worst = [
    fill('http://', '.', 'a'),
    fill('http://a.example/', ')', 'a'),
    fill('http://a.example/', '…a', '.'),
    fill('', 'http://', ''),
    fill('', 'http://a ', ''),
    fill('http://', 'ü', ''),
    fill('http://a', '\u0301\u0323', ''),
    fill('', `http://${'漢'.repeat(64)}.example `, ''),
    fill('', 'h', 'ttp://a'),
    fill('', ' ', 'a'),
  ];
  const before = process.cpuUsage();
  for (let round = 0; round < 5; round++) for (const text of worst) linked(text);
  const { user, system } = process.cpuUsage(before);
  // In proportion to its length an update takes about a millisecond, with its square half a second.
  assert.ok((user + system) / 1_000 < worst.length * 5 * 40, `${Math.round((user + system) / 1_000)} ms of work`);
});
