import assert from 'node:assert/strict';
import { generateKeyPairSync } from 'node:crypto';
import { Readable } from 'node:stream';
import { test } from 'node:test';
import { makeContents } from '../../engine/queue/content.ts';

test('a signed head is kept while a recipient needs it, and no longer', async () => {
  const key = { selector: 's', key: generateKeyPairSync('ed25519').privateKey };
  let asked = 0;
  const loadSigning = async () => {
    asked++;
    return { domain: 'example.com', keys: [key] };
  };
  const raw = Buffer.from('From: a@example.com\r\n\r\nhi\r\n');
  const spool = { read: async () => Readable.from([raw]) };
  const contents = makeContents({ spool: spool as never, loadSigning, returnPath: () => 'b@example.com', hostname: 'mx.example' });
  const item = (id: number) => ({
    id,
    lease: 'l',
    org: 'o',
    messageId: 'msg_1',
    domainId: 'd',
    address: 'x@far.example',
    tries: 0,
    leasedAt: new Date(0).toISOString(),
    position: { key: 'k', offset: 0, bytes: raw.length },
    headerBytes: 23,
    bodyHash: Buffer.alloc(32),
    sendDeadline: 0,
  });
  const signed = async (act: () => Promise<unknown>) => {
    asked = 0;
    await act();
    return asked;
  };
  const [one, two] = [await contents.outgoing(item(1)), await contents.outgoing(item(2))];
  assert.equal(await signed(() => one!.content()), 1);
  contents.forget(item(1));
  assert.equal(await signed(() => two!.content()), 0, 'signed once for both');
  contents.forget(item(2));

  // Refused while it was read: nothing stays, and the next attempt is signed anew.
  const late = (await contents.outgoing(item(3)))!.content();
  contents.forget(item(3));
  await late;
  const again = await contents.outgoing(item(3));
  assert.equal(await signed(() => again!.content()), 1);
});
