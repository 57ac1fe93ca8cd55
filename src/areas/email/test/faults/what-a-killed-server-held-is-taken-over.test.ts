import assert from 'node:assert/strict';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { cutLink } from '../../../../../test/fakes/cut-link.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { caller } from '../../../../../test/harness/request.ts';
import { letter, type MailScene, mailScene, untilState } from '../mail-scene.ts';

/** A further server on the same database and data directory, which reaches the database over a link of its own. */
async function neighbour(t: TestContext, { qd, env, key }: MailScene) {
  const { host, port, user, password, database } = qd.connection;
  const link = await cutLink(t, { path: `${host}/.s.PGSQL.${port}` });
  const { dir } = await scratch(t);
  const server = serverProcess(t, {
    dir,
    dataDir: qd.dataDir,
    env: {
      ...env,
      QUARTERDECK_PUBLIC_URL: qd.url,
      QUARTERDECK_DATABASE_URL: `postgresql://${user}:${encodeURIComponent(String(password))}@127.0.0.1:${link.port}/${database}`,
      QUARTERDECK_LOG_LEVEL: 'silent',
    },
  });
  return { server, link, ...caller(await server.ready, key.secret) };
}

test('what a killed server was sending is sent by another once its lease has lapsed', async (t) => {
  let isStalling = true;
  const scene = await mailScene(t, { at: (stage) => (stage === 'dot' && isStalling ? 'stall' : undefined) });
  const { qd, sink } = scene;
  const { server, post } = await neighbour(t, scene);
  const { body } = await post('/email/send', letter());
  await eventually(async () => sink.commands.includes('DATA'));
  await server.killed();
  isStalling = false;

  await qd.clock.advance('55s');
  assert.equal((await qd.owner.get(`/email/messages/${body.id}`)).body.message.state, 'sending', 'it is the dead server’s for a minute');
  await qd.clock.advance('6s');
  await untilState(qd, body.id, 'delivered');
  assert.equal(sink.count, 1);
});

test('what a killed server had heard, and the database had not, is not sent again', async (t) => {
  const scene = await mailScene(t);
  const { qd, sink } = scene;
  const { server, link, post } = await neighbour(t, scene);
  link.stallAt('told as materialized'); // the statement that writes outcomes down
  const { body } = await post('/email/send', letter());
  const journals = async () => {
    const names = (await readdir(join(qd.dataDir, 'mail'))).filter((name) => name.startsWith('outcomes-'));
    return Promise.all(names.map((name) => readFile(join(qd.dataDir, 'mail', name), 'utf8').catch(() => '')));
  };
  await eventually(async () => (await journals()).some((text) => text.includes(body.id)));
  await server.killed();
  assert.equal(sink.count, 1);
  assert.equal((await qd.owner.get(`/email/messages/${body.id}`)).body.message.state, 'sending');

  await qd.clock.advance('61s');
  const { events } = await untilState(qd, body.id, 'delivered');
  assert.deepEqual(events.map(({ kind }) => kind).sort(), ['delivered', 'sent']);
  assert.equal(sink.count, 1);
});
