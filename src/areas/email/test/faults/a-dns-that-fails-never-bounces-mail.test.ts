import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { freshDatabase } from '../../../../../test/harness/postgres.ts';
import { letter, mailScene, untilState } from '../mail-scene.ts';

test('a DNS that fails or is silent never bounces mail: it waits, with the reason in the log', async (t) => {
  const { connection, drop } = await freshDatabase();
  t.after(drop);
  const dataDir = await mkdtemp(join(tmpdir(), 'qde-'));
  t.after(() => rm(dataDir, { recursive: true, force: true }));
  const { qd, dns, sink, key, env } = await mailScene(t, {}, { connection, dataDir });
  dns.zone['failing.example'] = 'servfail';
  dns.zone['silent.example'] = 'silence';
  const failing = (await key.post('/email/send', letter({ to: ['a@failing.example'] }))).body.id;
  const silent = (await key.post('/email/send', letter({ to: ['a@silent.example'] }))).body.id;
  const good = (await key.post('/email/send', letter())).body.id;

  await untilState(qd, good, 'delivered');
  assert.equal(
    (await untilState(qd, failing, 'deferred')).message.lastError,
    'the mail servers of failing.example could not be looked up: its name servers fail',
  );
  assert.equal(
    (await untilState(qd, silent, 'deferred')).message.lastError,
    'the mail servers of silent.example could not be looked up: the DNS did not answer',
  );

  // A day later it still waits, and no failure event was sent.
  await qd.clock.advance('24h');
  const { message, events } = await untilState(qd, failing, 'deferred', 'sending');
  assert.match(message.lastError ?? '', /could not be looked up/);
  assert.deepEqual(events, []);
  assert.deepEqual((await qd.owner.get('/email/suppressions')).body.suppressions, []);
  await qd.stop();

  dns.zone['failing.example'] = { MX: [{ preference: 10, exchange: 'mx.far.example' }] };
  dns.zone['silent.example'] = { MX: [{ preference: 10, exchange: 'mx.far.example' }] };
  const again = await quarterdeck(t, { connection, dataDir, env });
  await again.clock.advance('5m');
  for (const id of [failing, silent]) assert.equal((await untilState(again, id, 'delivered')).message.lastError, undefined);
  assert.equal(sink.count, 3);
});
