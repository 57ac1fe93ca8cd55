import assert from 'node:assert/strict';
import fs from 'node:fs';
import { open } from 'node:fs/promises';
import { syncBuiltinESMExports } from 'node:module';
import { type TestContext, test } from 'node:test';
import { letter, mailScene, untilState } from '../mail-scene.ts';
import { ownSmtpPort, submitBySmtp } from '../submit-by-smtp.ts';

const noRoom = () => Object.assign(new Error('no room'), { code: 'ENOSPC' });

/** From now on nothing can be added to files. */
async function fillDisk(t: TestContext) {
  const probe = await open(import.meta.filename, 'r');
  const handles = Object.getPrototypeOf(probe);
  await probe.close();
  const refuse = async () => {
    throw noRoom();
  };
  const mocks = ['write', 'writev'].map((name) => t.mock.method(handles, name, refuse));
  return () => {
    for (const { mock } of mocks) mock.restore();
  };
}

test('a full disk refuses mail with a sentence, and loses none', async (t) => {
  const smtp = await ownSmtpPort();
  const { qd, sink, key } = await mailScene(t, {}, { env: smtp.env });
  const before = await key.post('/email/send', letter({ to: ['before@far.example'] }));
  await untilState(qd, before.body.id, 'delivered');

  const makeRoom = await fillDisk(t);
  const refused = await key.post('/email/send', letter({ to: ['refused@far.example'] }), { 'idempotency-key': 'full' });
  assert.deepEqual([refused.status, refused.body.error], [503, 'the storage is full; free some space in it, then send this again']);
  const large = 'x'.repeat(70).concat('\r\n').repeat(5_000);
  for (const text of ['small', large])
    assert.match(await submitBySmtp(t, smtp.port, key.secret, ['refused@far.example'], text), /^451 4\.3\.0 the storage is full/);
  const content = await fetch(`${qd.url}/api/v1/email/messages/${before.body.id}/content`, {
    headers: { authorization: `Bearer ${qd.owner.key}` },
  });
  assert.match(await content.text(), /Hello Bob/, 'what was accepted is read all the while');
  makeRoom();

  const again = await key.post('/email/send', letter({ to: ['again@far.example'] }), { 'idempotency-key': 'full' });
  assert.equal(again.status, 202, 'the refused one left its key free');
  assert.match(await submitBySmtp(t, smtp.port, key.secret, ['smtp@far.example'], large), /^250 /);
  await untilState(qd, again.body.id, 'delivered');
  await sink.received(3);
  const { body } = await qd.owner.get('/email/messages');
  assert.equal(body.messages.length, 3, 'nothing that was refused is in the log');
  assert.deepEqual(sink.messages.flatMap(({ to }) => to).sort(), ['again@far.example', 'before@far.example', 'smtp@far.example']);
});

test('on a full disk mail goes on leaving, and its fate is in the log', async (t) => {
  const { qd, sink, key } = await mailScene(t);
  const real = fs.writeSync;
  const notes = t.mock.method(fs, 'writeSync', (...args: unknown[]) => {
    if (String(args[1]).includes('"lease"')) throw noRoom();
    return Reflect.apply(real, fs, args);
  });
  syncBuiltinESMExports();
  t.after(() => {
    notes.mock.restore();
    syncBuiltinESMExports();
  });
  const { body } = await key.post('/email/send', letter());
  await untilState(qd, body.id, 'delivered');
  assert.equal(sink.count, 1);
});
