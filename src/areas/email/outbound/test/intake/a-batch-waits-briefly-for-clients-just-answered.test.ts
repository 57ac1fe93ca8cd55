import assert from 'node:assert/strict';
import { test } from 'node:test';
import Type from 'typebox';
import { rows, type Tx } from '../../../../../kernel/db/index.ts';
import { email } from '../../../index.ts';
import type { OpenEmail } from '../../../open.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { makeIntake } from '../../engine/intake/index.ts';

const contentBytes = Buffer.from('From: a@example.com\r\n\r\nhi\r\n');
const CountRow = Type.Object({ many: Type.Integer() });

test('while mail is sent, a batch waits briefly for clients that were just answered', async (t) => {
  const { qd, key } = await mailScene(t);
  const { body } = await key.post('/email/send', letter());
  const { message } = await untilState(qd, (body as { id: string }).id, 'delivered');
  const { spool } = qd.own<OpenEmail>(email as never);
  const submission = {
    org: qd.owner.orgId,
    door: 'http',
    domainId: message.domainId,
    sendKeyId: key.id,
    sender: 'a@example.com',
    recipients: [],
    copies: [],
    subject: 's',
    messageId: '<x@example.com>',
    envelope: ['b@far.example'],
    content: contentBytes,
  };

  /** How many messages each transaction wrote: one request comes alone, a second meanwhile, and the first client submits again at once. */
  const batchesWhile = async (isSending: boolean) => {
    const batches: number[] = [];
    const count = async (tx: Tx) => (await rows(tx, CountRow)`select count(*)::int as many from email.message`)[0]!.many;
    const write = <T>(work: (tx: Tx) => Promise<T>) =>
      qd.app.db.write(async (tx) => {
        const before = await count(tx);
        const done = await work(tx);
        batches.push((await count(tx)) - before);
        return done;
      });
    const queue = { reserve: () => false, release: () => {}, start: () => {}, isSending };
    const intake = makeIntake({ app: { ...qd.app, db: { ...qd.app.db, write } }, spool, node: 'n', queue: () => queue });
    const hand = () => intake.accept({ submissions: [submission] } as never);
    await Promise.all([hand().then(hand), hand()]);
    return batches;
  };

  assert.deepEqual(await batchesWhile(true), [1, 2]);
  assert.deepEqual(await batchesWhile(false), [1, 1, 1]);
});
