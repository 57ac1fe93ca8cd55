import assert from 'node:assert/strict';
import { join } from 'node:path';
import { type TestContext, test } from 'node:test';
import { pathToFileURL } from 'node:url';
import { freePort } from '../../../../../test/harness/free-port.ts';
import { quarterdeck } from '../../../../../test/harness/index.ts';
import { urlOf } from '../../../../../test/harness/postgres.ts';
import { eventually, scratch, serverProcess } from '../../../../../test/harness/process.ts';
import { run } from '../../../../kernel/db/index.ts';
import { type Delivering, deliverTo, letterIn, type MxScene, mxPort, mxScene } from '../../inbound/test/receiving/mx-scene.ts';
import { withoutOthers } from '../mail-scene.ts';

const dieAt = pathToFileURL(join(import.meta.dirname, '../../../../../test/harness/die-at.ts')).href;

/** A further server on the same database and data directory, which takes mail in, reads it and tells of it; and may die at a statement. */
async function taking(t: TestContext, { qd, env }: MxScene, dieing?: string) {
  const port = await freePort();
  const { dir } = await scratch(t);
  const server = serverProcess(t, {
    dir,
    dataDir: qd.dataDir,
    nodeFlags: [...withoutOthers, ...(dieing ? ['--import', dieAt] : [])],
    env: {
      ...env,
      QUARTERDECK_DATABASE_URL: urlOf(qd.connection),
      QUARTERDECK_ROLES: 'smtp,worker',
      QUARTERDECK_PUBLIC_URL: qd.url,
      QUARTERDECK_SMTP_INBOUND: `127.0.0.1:${port}`,
      QUARTERDECK_LOG_LEVEL: 'silent',
      ...(dieing ? { QD_DIE_AT: dieing } : {}),
    },
  });
  // Mail of the server before may bring it to its point while it still starts.
  await (dieing ? Promise.race([server.ready.catch(() => {}), server.exited]) : server.ready);
  return { server, port };
}

/** One that takes over and lives: a server in this process does the same, and loads nothing. */
const takingOver = (t: TestContext, { qd, env }: MxScene) =>
  quarterdeck(t, {
    connection: qd.connection,
    dataDir: qd.dataDir,
    env: { ...env, QUARTERDECK_ROLES: 'smtp,worker', QUARTERDECK_PUBLIC_URL: qd.url },
  });

/** Where it dies. Of what is written when mail is taken in, told of, and delivered, the first and the last. */
const points: [step: string, at: string][] = [
  ['receive', 'insert into email:before:1'],
  ['receive, its rows written', 'insert into email:after:2'],
  ['receive, committed and not answered', 'insert into email:after:3'],
  ['freeze', 'delete from email:before:1'],
  ['freeze, not committed', 'delete from email:before:2'],
  ['freeze, committed and not known', 'delete from email:after:2'],
];

interface Story {
  subject: string;
  answer: string;
  delivering: Delivering;
}

test('accepted mail is recorded and emitted under one id, wherever a server is killed', { timeout: 280_000 }, async (t) => {
  const scene = await mxScene(t, { env: { QUARTERDECK_ROLES: 'api' } });
  const { qd, endpoint, dns } = scene;
  const idsOf = (subject: string) => new Set(endpoint.told.filter(({ event }) => event.data.subject === subject).map(({ id }) => id));
  const logged = async (subject: string): Promise<{ id: string; state: string }[]> =>
    (await qd.owner.get('/email/messages?direction=receive')).body.messages.filter((m: { subject?: string }) => m.subject === subject);
  const stories: Story[] = [];
  const deliverAs = async (port: number, subject: string, host = 'far.example') => {
    const delivering = { from: `bob@${host}`, message: letterIn().replaceAll('far.example', host).replace('Help', subject) };
    const answer = await deliverTo(t, port, delivering).catch(() => '');
    stories.push({ subject, answer, delivering });
  };

  for (const [step, at] of points) {
    // As on a slow machine, every periodic task is due when the server starts; none of their statements is a point.
    await qd.app.db.write((tx) => run(tx)`update kernel.task set next_at = kernel.now(), lease = null, lease_until = null`);
    const { server, port } = await taking(t, scene, at);
    await deliverAs(port, step);
    assert.equal((await server.exited).signal, 'SIGKILL', at);
  }

  // While one is told, since the endpoint has it and its answer is not read; and while another is read, since the DNS does not answer.
  const usual = endpoint.answer;
  endpoint.answer = () => {};
  dns.zone['silent.example'] = 'silence';
  const { server, port } = await taking(t, scene);
  await deliverAs(port, 'deliver');
  await eventually(async () => idsOf('deliver').size === 1);
  const asked = dns.asked.length;
  await deliverAs(port, 'parse', 'silent.example');
  await eventually(async () => dns.asked.slice(asked).some((question) => question.includes('silent.example')));
  await server.killed();
  delete dns.zone['silent.example'];
  endpoint.answer = usual;

  // Another server takes over, and a sender that got no 250 sends again.
  const heir = await takingOver(t, scene);
  for (const { answer, delivering } of stories)
    if (!answer.startsWith('250')) assert.match(await deliverTo(t, mxPort(heir), delivering), /^250 /);
  await qd.clock.advance('61s');
  for (const { subject, answer } of stories) {
    await eventually(async () => {
      const found = await logged(subject);
      return found.length > 0 && found.every(({ state }) => state === 'delivered');
    });
    const found = await logged(subject);
    assert.equal(idsOf(subject).size, found.length, `${subject}: each message under one id`);
    assert.ok(found.length <= (answer.startsWith('250') ? 1 : 2), `${subject}: twice only without a 250`);
  }
  assert.equal(endpoint.told.filter(({ event }) => event.data.subject === 'deliver').length, 2, 'twice, under one id');
  await heir.stop();
});
