import assert from 'node:assert/strict';
import { test } from 'node:test';
import * as packet from 'dns-packet';
import fc from 'fast-check';
import { decodeReply, encodeQuery, type Question } from '../message.ts';

const question: Question = { name: 'example.com', type: 'TXT' };

test('no answer can break or stall its reader', () => {
  const good = packet.encode({
    type: 'response',
    id: 7,
    flags: packet.RECURSION_DESIRED,
    questions: [{ name: 'example.com', type: 'TXT' }],
    answers: [
      { type: 'TXT', name: 'example.com', ttl: 60, data: 'text' },
      { type: 'CNAME', name: 'example.com', ttl: 60, data: 'other.example' },
    ],
    authorities: [{ type: 'SOA', name: 'example.com', ttl: 60, data: { mname: 'a', rname: 'b', minimum: 5 } }],
  });
  assert.equal(decodeReply(good, 7, question)?.records[0]?.data, 'text');
  assert.equal(decodeReply(good, 8, question), undefined);
  assert.equal(decodeReply(good, 7, { ...question, type: 'MX' }), undefined);
  assert.equal(decodeReply(encodeQuery(7, question, { recursive: true, edns: true }), 7, question), undefined, 'a question is no answer');

  // Bytes of a good answer, some changed, truncated anywhere: decoded or refused, never an exception for the caller.
  const edits = fc.array(fc.tuple(fc.nat(good.length - 1), fc.nat(255)), { maxLength: 12 });
  fc.assert(
    fc.property(edits, fc.nat(good.length), (changed, length) => {
      const bytes = Buffer.from(good.subarray(0, length));
      for (const [at, byte] of changed) if (at < bytes.length) bytes[at] = byte;
      decodeReply(bytes, 7, question);
    }),
    { numRuns: 2_000 },
  );
});

test('as many records as a header can claim are not counted on', () => {
  const claims = Buffer.alloc(65_000);
  claims.writeUInt16BE(7, 0);
  claims.writeUInt16BE(0x8000, 2);
  for (const at of [6, 8, 10]) claims.writeUInt16BE(65_535, at);
  assert.equal(decodeReply(claims, 7, question), undefined);
});
