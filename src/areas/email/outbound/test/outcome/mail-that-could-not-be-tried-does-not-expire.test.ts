import assert from 'node:assert/strict';
import { cp, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { test } from 'node:test';
import { quarterdeck } from '../../../../../../test/harness/index.ts';
import { eventually } from '../../../../../../test/harness/process.ts';
import { operator } from '../../../../../identity/audit.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { posture } from '../../../index.ts';
import { letter, type MailScene, mailScene, untilState } from '../../../test/mail-scene.ts';

const states = async ({ qd }: Pick<MailScene, 'qd'>): Promise<Record<string, number>> => {
  const { rows } = await qd.app.db.read((tx) => tx.query(sql`select state, count(*)::int as n from email.recipient group by state`));
  return Object.fromEntries((rows as { state: string; n: number }[]).map(({ state, n }) => [state, n]));
};

const send = async ({ key }: MailScene, count: number) => {
  const emails = Array.from({ length: count }, (_, n) => letter({ to: [`n${n}@far.example`] }));
  const { status } = await key.post('/email/send/batch', { messages: emails });
  assert.equal(status, 202);
};

test('mail that waits for 74 hours of pause is sent once it ends, and none has failed', async (t) => {
  let isOpen = false;
  const scene = await mailScene(t, { at: (stage) => (stage === 'rcpt' && !isOpen ? '451 4.7.1 later' : undefined) });
  const { qd, sink } = scene;
  await send(scene, 20);
  await eventually(async () => (await states(scene)).deferred === 20);
  const act = (work: typeof posture.resumeSending) => qd.app.db.write((tx) => work(tx, operator(qd.owner.orgId)));
  await act((tx, actor) => posture.pauseSending(tx, actor, 'a test'));
  await qd.clock.advance('74h');
  await act(posture.resumeSending);
  // The other side says "later" once more: that is its second word, not its last.
  const replies = sink.commands.length;
  await eventually(async () => sink.commands.length > replies && (await states(scene)).deferred === 20);
  isOpen = true;
  await qd.clock.advance('10m');
  await eventually(async () => (await states(scene)).delivered === 20);
});

test('a stop while old mail is being sent puts it back, and another server sends it', async (t) => {
  let isStalling = true;
  const scene = await mailScene(
    t,
    { at: (stage) => (stage === 'rcpt' && isStalling ? 'stall' : undefined) },
    { env: { QUARTERDECK_ROLES: 'api' } },
  );
  const { qd, env, sink } = scene;
  await send(scene, 40);
  await qd.clock.advance('74h');
  const sender = async () => {
    const dataDir = await mkdtemp(join(tmpdir(), 'qde-'));
    t.after(() => rm(dataDir, { recursive: true, force: true }));
    // The same data directory but for what a server keeps to itself: segments are found by its node.
    for (const name of ['secret.key', 'node.id', 'blobs']) await cp(join(qd.dataDir, name), join(dataDir, name), { recursive: true });
    return quarterdeck(t, {
      connection: qd.connection,
      dataDir,
      env: { ...env, QUARTERDECK_ROLES: 'worker', QUARTERDECK_PUBLIC_URL: qd.url },
    });
  };
  const stopping = await sender();
  await eventually(async () => (await states(scene)).sending === 40 && sink.commands.some((line) => line.startsWith('RCPT')));
  await stopping.stop();
  assert.deepEqual(await states(scene), { queued: 40 });
  isStalling = false;
  await sender();
  await eventually(async () => (await states(scene)).delivered === 40);
});

test('mail that our own DNS keeps waiting for a week is not given up', async (t) => {
  const scene = await mailScene(t, { at: (stage) => (stage === 'rcpt' ? '451 4.7.1 later' : undefined) });
  const { qd, dns, key } = scene;
  dns.zone['silent.example'] = 'silence';
  const { id } = (await key.post('/email/send', letter({ to: ['bob@silent.example'] }))).body;
  await untilState(qd, id, 'deferred');
  // It has been tried for all its time before: the next word of the other side would be the last.
  await qd.app.db.write((tx) => tx.query(sql`update email.recipient set tried_seconds = 300_000`));
  const tried = async () => (await qd.app.db.read((tx) => tx.query(sql`select attempts from email.recipient`))).rows[0]!.attempts as number;
  const before = await tried();
  await qd.clock.advance('168h');
  await eventually(async () => (await tried()) > before);
  const { message } = await untilState(qd, id, 'deferred');
  assert.match(message.lastError ?? '', /the DNS did not answer/);
});
