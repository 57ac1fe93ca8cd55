import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { readStsId, readStsPolicy } from '../../rules/mta-sts.ts';

const policy = (...lines: string[]) => ['version: STSv1', 'mode: enforce', 'max_age: 86400', ...lines].join('\r\n');

test('a policy is read line by line, whatever stands around its fields', () => {
  const read = { mode: 'enforce', mx: ['mail.example.com', '*.example.net'], maxAgeSeconds: 86_400 };
  assert.deepEqual(readStsPolicy(policy('mx: mail.example.com', 'mx:*.Example.NET. ', '')), read);
  assert.deepEqual(readStsPolicy('version:STSv1\nMODE :enforce\nmax_age:\t86400\nmx: mail.example.com\n\nmx: *.example.net\nx: y'), read);
  assert.equal(readStsPolicy(policy('mx: a.example').replace('STSv1', 'STSv2')), undefined);
  assert.equal(readStsPolicy(policy('mx: a.example').replace('86400', 'soon')), undefined);
  assert.equal(readStsPolicy(policy()), undefined, 'it names no server');
  assert.equal(readStsPolicy(policy(...Array<string>(101).fill('mx: a.example'))), undefined);
  assert.equal(readStsPolicy(policy('mx: a.example', '\n'.repeat(1_000))), undefined, 'more lines than any policy needs');
});

test('a record has one id', () => {
  assert.equal(readStsId(['v=spf1 -all', 'v=STSv1; id=20260801T1;']), '20260801T1');
  assert.equal(readStsId(['v=STSv1 ;id=a']), 'a');
  assert.equal(readStsId(['v=STSv1; id=a', 'v=STSv1; id=b']), undefined, 'two records are none');
  for (const text of ['v=STSv1', 'v=STSv1; id=', 'v=STSv1; id=a b', `v=STSv1; id=${'a'.repeat(33)}`, 'v=STSv10; id=a'])
    assert.equal(readStsId([text]), undefined, text);
});

// Each of these took seconds, once: they would still, and the suite would show it.
test('64 KiB of anything are read, and are no policy', () => {
  for (const piece of [' ', '\t', '\r', ': ', 'a', 'mx:', ' \r'])
    assert.equal(readStsPolicy(policy(`${piece.repeat(Math.floor(65_000 / piece.length))}b\rb`)), undefined, JSON.stringify(piece));
  fc.assert(fc.property(fc.string({ maxLength: 2_000 }), (text) => readStsPolicy(text) === undefined && readStsId([text]) === undefined));
});
