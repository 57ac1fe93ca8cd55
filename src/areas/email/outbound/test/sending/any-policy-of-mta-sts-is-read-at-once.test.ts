import assert from 'node:assert/strict';
import test from 'node:test';
import fc from 'fast-check';
import { measureGrowth } from '../../../../../../test/conformance/pump.ts';
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

const pieces = [' ', '\t', '\r', ': ', 'a', 'mx:', ' \r'];

test('64 KiB of anything are read, and are no policy', () => {
  for (const field of ['', 'mx:'])
    for (const piece of pieces) {
      const line = `${field}${piece.repeat(Math.floor(65_000 / piece.length))}b\rb`;
      assert.equal(readStsPolicy(policy(line)), undefined, JSON.stringify([field, piece]));
    }
  fc.assert(fc.property(fc.string({ maxLength: 2_000 }), (text) => readStsPolicy(text) === undefined && readStsId([text]) === undefined));
});

// A field of spaces with a return inside was tried at every split between its name, its value and its end.
test('the time that a policy takes grows with its length', async () => {
  for (const field of ['', 'mx:'])
    for (const piece of pieces) {
      const read = async (length: number) => void readStsPolicy(policy(`${field}${piece.repeat(Math.ceil(length / piece.length))}b\rb`));
      const measured = await measureGrowth(read, 1_000);
      assert.notEqual(
        measured?.isSlow,
        true,
        `${JSON.stringify([field, piece])}: ${measured?.quarter} ms at a quarter, ${measured?.whole} ms`,
      );
    }
});
