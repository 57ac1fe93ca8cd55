import assert from 'node:assert/strict';
import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { test } from 'node:test';
import { answerProofs } from '../answer-proofs.ts';
import type { Presented } from '../presented.ts';

test('a proof that is found after its request was refused is not sent, and ends no process', async (t) => {
  const found = Promise.withResolvers<string>();
  const handle = answerProofs({ source: { findHttpProof: () => found.promise } } as unknown as Presented);
  const server = createServer((request, response) => {
    assert.ok(handle(request, response));
    // As a server that ends refuses what has no answer yet.
    response.writeHead(503).end('it stops');
  }).listen(0, '127.0.0.1');
  t.after(() => server.close());
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const answer = await fetch(`http://127.0.0.1:${port}/.well-known/acme-challenge/${'t'.repeat(43)}`);
  assert.deepEqual([answer.status, await answer.text()], [503, 'it stops']);
  const unhandled: unknown[] = [];
  const note = (error: unknown) => unhandled.push(error);
  process.on('unhandledRejection', note);
  found.resolve('proof');
  await new Promise(setImmediate);
  process.off('unhandledRejection', note);
  assert.deepEqual(unhandled, []);
});
