import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { sql } from '../../../../kernel/sql.ts';
import { type Delivering, deliverTo, mxPort } from '../../inbound/test/receiving/mx-scene.ts';
import { hardBounce } from '../../outbound/test/feedback/mails.ts';
import { endpointAt, listening } from '../../webhooks/test/listening.ts';
import { letter, type MailScene, mailScene, untilState, withoutOthers } from '../mail-scene.ts';

const dieAt = pathToFileURL(join(import.meta.dirname, '../../../../../test/harness/die-at.ts')).href;

/** Where a server that takes a report in dies, from its row to the transaction that applies it. */
const points: [step: string, at: string][] = [
  ['receive, committed and not answered', 'insert into email:after:3'],
  ['apply, not committed', 'delete from email:before:2'],
];

/** A further server on the same database and data directory, which dies at a statement. */
async function taking(t: TestContext, { qd, env }: MailScene, dieing: string) {
  const port = await freePort();
  const { dir } = await scratch(t);
  const server = serverProcess(t, {
    dir,
    dataDir: qd.dataDir,
    nodeFlags: [...withoutOthers, '--import', dieAt],
    env: {
      ...env,
      QUARTERDECK_DATABASE_URL: urlOf(qd.connection),
      QUARTERDECK_ROLES: 'smtp,worker',
      QUARTERDECK_PUBLIC_URL: qd.url,
      QUARTERDECK_SMTP_INBOUND: `127.0.0.1:${port}`,
      QUARTERDECK_LOG_LEVEL: 'silent',
      QD_DIE_AT: dieing,
    },
  });
  // A report left by the previous server may bring it to its kill point while it still starts.
  await Promise.race([server.ready.catch(() => {}), server.exited]);
  return { server, port };
}

/** One that lives: a server in this process does the same, and loads nothing. */
const takingOver = (t: TestContext, { qd, env }: MailScene) =>
  quarterdeck(t, {
    connection: qd.connection,
    dataDir: qd.dataDir,
    env: { ...env, QUARTERDECK_ROLES: 'smtp,worker', QUARTERDECK_PUBLIC_URL: qd.url },
  });

test('a report is settled exactly once, wherever a server is killed, also by two servers', { timeout: 280_000 }, async (t) => {
  const scene = await mailScene(t, {}, { env: { QUARTERDECK_ROLES: 'api' } });
  const { qd, key, sink } = scene;
  const endpoint = await listening(t);
  await endpointAt(qd.owner, endpoint.url, 'email.bounced');
  const sending = await takingOver(t, scene);
  const letters = await Promise.all(
    [...points, 'two'].map(async (_, n) => {
      const address = `gone-${n}@far.example`;
      const id: string = (await key.post('/email/send', letter({ to: [address] }))).body.id;
      await untilState(qd, id, 'delivered');
      const { from } = sink.messages.find(({ to }) => to.includes(address))!;
      return { id, delivering: { from: '', to: [from], message: hardBounce(address).toString('latin1') } };
    }),
  );
  await sending.stop();

  const bounces = async (id: string) =>
    (await qd.app.db.read((tx) => tx.query(sql`select 1 from email.event where message_id = ${id} and kind = 'bounced'`))).rows.length;
  const arrivals = async () => (await qd.app.db.read((tx) => tx.query(sql`select 1 from email.arrival`))).rows.length;
  const idsOf = (id: string) => new Set(endpoint.told.filter(({ event }) => event.data.messageId === id).map((told) => told.id));
  const settledOnce = async (id: string, step: string) => {
    await untilState(qd, id, 'bounced');
    await eventually(async () => (await arrivals()) === 0 && idsOf(id).size > 0);
    assert.equal(await bounces(id), 1, `${step}: one bounce in the log`);
    assert.equal(idsOf(id).size, 1, `${step}: one event`);
  };

  const unheard: Delivering[] = [];
  for (const [n, [, at]] of points.entries()) {
    const { delivering } = letters[n]!;
    const { server, port } = await taking(t, scene, at);
    const answer = await deliverTo(t, port, delivering).catch(() => '');
    if (!answer.startsWith('250')) unheard.push(delivering);
    assert.equal((await server.exited).signal, 'SIGKILL', at);
  }
  // A remote server that got no 250 delivers again, to the server that took over.
  const heir = await takingOver(t, scene);
  for (const delivering of unheard) assert.match(await deliverTo(t, mxPort(heir), delivering), /^250 /);
  await qd.clock.advance('61s');
  for (const [n, [step]] of points.entries()) await settledOnce(letters[n]!.id, step);

  const { id, delivering } = letters.at(-1)!;
  const two = [heir, await takingOver(t, scene)];
  const answers = await Promise.all(two.map((server) => deliverTo(t, mxPort(server), delivering)));
  for (const answer of answers) assert.match(answer, /^250 /);
  await settledOnce(id, 'two servers');
  const hours = await qd.app.db.read((tx) => tx.query(sql`select sum(hard)::int as hard from email.sending_hour`));
  assert.deepEqual(hours.rows, [{ hard: letters.length }], 'each is counted once');
  for (const server of two) await server.stop();
});
