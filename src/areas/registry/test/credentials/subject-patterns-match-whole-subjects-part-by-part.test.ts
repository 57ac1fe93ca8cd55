import assert from 'node:assert/strict';
import { test } from 'node:test';
import fc from 'fast-check';
import { matchesSubject, overbroadPattern } from '../../rules/subject-pattern.ts';

/** A regular expression with the same meaning: short to read, slow on hostile input. */
const reference = (pattern: string) =>
  new RegExp(
    `^${pattern
      .split(/(\*\*|\*)/)
      .map((p) => (p === '**' ? '[^]*' : p === '*' ? '[^:]*' : p.replaceAll(/[.*+?^${}()|[\]\\/-]/g, '\\$&')))
      .join('')}$`,
  );

test('patterns of any length', () => {
  for (const length of [31, 32, 33, 64, 511]) {
    assert.ok(matchesSubject('a'.repeat(length), 'a'.repeat(length)));
    assert.ok(matchesSubject(`${'a'.repeat(length - 1)}*`, 'a'.repeat(length + 5)));
    assert.ok(matchesSubject(`${'a'.repeat(length - 1)}*b`, `${'a'.repeat(length)}b`));
    assert.ok(!matchesSubject('a'.repeat(length), 'a'.repeat(length + 1)));
    assert.ok(!matchesSubject(`${'a'.repeat(length - 1)}*b`, `${'a'.repeat(length)}:b`));
  }
});

const words = fc.array(fc.constantFrom('a', 'b', ':', '/', '.', '-'), { maxLength: 12 }).map((p) => p.join(''));
const patterns = fc.array(fc.constantFrom('a', 'b', ':', '/', '.', '*', '**'), { maxLength: 10 }).map((p) => p.join(''));

test('a pattern means what its regular expression would', () => {
  fc.assert(
    fc.property(patterns, words, (pattern, subject) => assert.equal(matchesSubject(pattern, subject), reference(pattern).test(subject))),
    { numRuns: 3000 },
  );
});

test('a pattern without a wildcard is that subject and no other', () => {
  fc.assert(fc.property(words, words, (a, b) => assert.equal(matchesSubject(a, b), a === b)));
});

test('hostile patterns and subjects take no time', () => {
  const begun = performance.now();
  assert.equal(matchesSubject(`${'**a'.repeat(170)}b`, 'a'.repeat(2048)), false);
  assert.equal(matchesSubject(`${'*a'.repeat(255)}:`, 'a'.repeat(2048)), false);
  for (let rules = 0; rules < 10; rules++) assert.equal(matchesSubject(`${'**'.repeat(255)}b`, 'a'.repeat(2048)), false);
  assert.ok(performance.now() - begun < 2_000);
});

test('with a shared issuer, the owner stands before any wildcard', () => {
  const github = 'https://token.actions.githubusercontent.com';
  const good: [string, string][] = [
    [github, 'repo:acme/app:ref:refs/heads/main'],
    [github, 'repo:acme/*:ref:refs/heads/main'],
    [github, 'repo:acme/app:**'],
    [github, 'repository_owner:acme:environment:*'],
    ['https://gitlab.com', 'project_path:acme/app:ref_type:branch:ref:*'],
    ['https://accounts.google.com', '104567890123456789012'],
    ['https://gitlab.acme.example', 'project_path:*'],
    ['https://kubernetes.acme.example', 'system:serviceaccount:ci:*'],
  ];
  const bad: [string, string][] = [
    [github, '**'],
    [github, 'repo:*/app:ref:refs/heads/main'],
    [github, 'repo:acme*/app:**'],
    [github, 'repo:acme'],
    [github, 'environment:production'],
    [`${github}/`, 'repo:**'],
    ['https://gitlab.com', 'project_path:**'],
    ['https://accounts.google.com', '1045*'],
    ['https://gitlab.acme.example', '**'],
  ];
  for (const [issuer, pattern] of good) assert.equal(overbroadPattern(issuer, pattern), undefined, `${issuer} ${pattern}`);
  for (const [issuer, pattern] of bad) assert.notEqual(overbroadPattern(issuer, pattern), undefined, `${issuer} ${pattern}`);
});
