import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tx } from '../../../../../kernel/db/index.ts';
import { email } from '../../../index.ts';
import type { OpenEmail } from '../../../open.ts';
import { letter, mailScene, untilState } from '../../../test/mail-scene.ts';
import { makeIntake } from '../../engine/intake/index.ts';

test('a batch whose transaction is retried reserves each slot once', async (t) => {
  const { qd, key } = await mailScene(t);
  const { body } = await key.post('/email/send', letter());
  const { message } = await untilState(qd, (body as { id: string }).id, 'delivered');
  let tries = 0;
  /** The first one is a deadlock's victim. */
  const write = <T>(work: (tx: Tx) => Promise<T>) =>
    qd.app.db.write(async (tx) => {
      const done = await work(tx);
      if (++tries === 1) throw Object.assign(new Error('deadlock detected'), { code: '40P01' });
      return done;
    });
  let held = 0;
  const begun: unknown[] = [];
  const queue = {
    reserve: () => ++held > 0,
    release: () => void held--,
    isSending: false,
    start: (recipients: readonly unknown[]) => void begun.push(...recipients),
  };
  const { spool } = qd.own<OpenEmail>(email as never);
  const intake = makeIntake({ app: { ...qd.app, db: { ...qd.app.db, write } }, spool, node: 'n', queue: () => queue });
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
    content: Buffer.from('From: a@example.com\r\n\r\nhi\r\n'),
  };
  await intake.accept({ submissions: [submission] } as never);
  assert.deepEqual({ tries, held, begun: begun.length }, { tries: 2, held: 1, begun: 1 });
});
