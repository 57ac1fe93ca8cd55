import assert from 'node:assert/strict';
import { test } from 'node:test';
import { setTimeout as sleep } from 'node:timers/promises';
import { cutLink } from '../../../../../test/fakes/cut-link.ts';
import { smtpSink } from '../../../../../test/fakes/smtp-sink.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { eventually } from '../../../../../test/harness/process.ts';
import { letter, mailScene, untilState } from '../mail-scene.ts';

test('a sender that cannot renew its leases for a minute begins nothing more, and the other one sends', { timeout: 60_000 }, async (t) => {
  let isStalling = true;
  const scene = await mailScene(
    t,
    { at: (stage, line) => (stage === 'rcpt' && isStalling && line.includes('<first@') ? 'stall' : undefined) },
    { env: { QUARTERDECK_ROLES: 'api' } },
  );
  const { qd, env, key, sink } = scene;
  const { host, port } = qd.connection;
  const link = await cutLink(t, { path: `${host}/.s.PGSQL.${port}` });
  const sender = (connection = qd.connection) =>
    quarterdeck(t, { connection, dataDir: qd.dataDir, env: { ...env, QUARTERDECK_ROLES: 'worker', QUARTERDECK_PUBLIC_URL: qd.url } });
  await sender({ ...qd.connection, host: '127.0.0.1', port: link.port });

  // One is being sent; the others wait behind it for the one connection of a site on trial.
  const send = async (to: string) => ((await key.post('/email/send', letter({ to: [to] }))).body as { id: string }).id;
  const ids = [await send('first@far.example')];
  await eventually(async () => sink.commands.some((line) => line.includes('<first@')));
  for (let n = 0; n < 5; n++) ids.push(await send(`n${n}@far.example`));
  for (const id of ids) await untilState(qd, id, 'sending');

  // The database is away from the first sender for longer than its leases last, by both clocks.
  link.cut();
  const { now } = performance;
  t.mock.method(performance, 'now', () => now.call(performance) + 61_000);
  await qd.clock.advance('61s');
  isStalling = false;
  await sender();
  for (const id of ids) await untilState(qd, id, 'delivered');
  assert.equal(sink.count, 6);

  // Its connection breaks: now it would be the others' turn.
  sink.close();
  const later = await smtpSink(t, { port: sink.port });
  await eventually(async () => later.sessions > 0);
  await sleep(500);
  assert.deepEqual(
    later.commands.filter((line) => line.startsWith('RCPT')),
    [],
  );
  link.mend();
  for (const id of ids) await untilState(qd, id, 'delivered');
});
