import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { cutLink } from '../../../../../test/fakes/cut-link.ts';
import { type SinkStage, smtpSink } from '../../../../../test/fakes/smtp-sink.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { caller } from '../../../../../test/harness/request.ts';
import { letter, type MailScene, mailScene, untilState, withoutOthers } from '../mail-scene.ts';

/** A further server on the same database and data directory, which reaches the database over a link of its own. */
async function neighbour(t: TestContext, { qd, env, key }: MailScene) {
  const { host, port, user, password, database } = qd.connection;
  const link = await cutLink(t, { path: `${host}/.s.PGSQL.${port}` });
  const { dir } = await scratch(t);
  const server = serverProcess(t, {
    dir,
    dataDir: qd.dataDir,
    nodeFlags: withoutOthers,
    env: {
      ...env,
      QUARTERDECK_PUBLIC_URL: qd.url,
      QUARTERDECK_DATABASE_URL: `postgresql://${user}:${encodeURIComponent(String(password))}@127.0.0.1:${link.port}/${database}`,
      QUARTERDECK_LOG_LEVEL: 'silent',
    },
  });
  return { server, link, ...caller(await server.ready, key.secret) };
}

/** The journaled outcomes of all servers. */
async function journals(dataDir: string): Promise<string[]> {
  const names = (await readdir(join(dataDir, 'mail'))).filter((name) => name.startsWith('outcomes-'));
  return Promise.all(names.map((name) => readFile(join(dataDir, 'mail', name), 'utf8').catch(() => '')));
}

test('mail of a killed server is sent by another after the lease lapsed, unless its journal has the final reply', async (t) => {
  let isStalling = true;
  const scene = await mailScene(t);
  const { qd, dns, sink } = scene;
  // A site of its own, so that nothing else waits behind it.
  const at = (stage: SinkStage) => (stage === 'dot' && isStalling ? ('stall' as const) : undefined);
  const stalling = await smtpSink(t, { host: '127.0.1.1', port: sink.port, at });
  dns.zone['stalling.example'] = { MX: [{ preference: 10, exchange: 'mx.stalling.example' }] };
  dns.zone['mx.stalling.example'] = { A: ['127.0.1.1'] };
  const { server, link, post } = await neighbour(t, scene);
  const stateOf = async (id: string) => (await qd.owner.get(`/email/messages/${id}`)).body.message.state;

  const { id: sending } = (await post('/email/send', letter({ to: ['bob@stalling.example'] }))).body;
  await eventually(async () => stalling.commands.includes('DATA'));
  link.stallAt('told as materialized'); // the statement that writes outcomes down
  const { id: heard } = (await post('/email/send', letter())).body;
  await eventually(async () => (await journals(qd.dataDir)).some((text) => text.includes(heard)));
  await server.killed();
  isStalling = false;
  assert.equal(sink.count, 1);
  for (const id of [sending, heard]) assert.equal(await stateOf(id), 'sending');

  await qd.clock.advance('50s');
  assert.equal(await stateOf(sending), 'sending', 'it is the dead server’s for a minute');
  await qd.clock.advance('11s');
  await untilState(qd, sending, 'delivered');
  assert.equal(stalling.count, 1);
  const { events } = await untilState(qd, heard, 'delivered');
  assert.deepEqual(events.map(({ kind }) => kind).sort(), ['delivered', 'sent']);
  assert.equal(sink.count, 1);
});
