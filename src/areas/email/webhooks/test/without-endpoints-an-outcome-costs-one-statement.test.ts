import assert from 'node:assert/strict';
import { test } from 'node:test';
import type { Tx } from '../../../../kernel/db/index.ts';
import { letter, mailScene, untilState } from '../../test/mail-scene.ts';
import { endpointAt, listening } from './listening.ts';

/** Statements of each transaction that settles outcomes. */
function countSettling({ db }: { db: { write: <T>(work: (tx: Tx) => Promise<T>) => Promise<T> } }): string[][] {
  const settling: string[][] = [];
  const { write } = db;
  db.write = (work) =>
    write(async (tx) => {
      const said: string[] = [];
      const done = await work({
        ...tx,
        query: (piece) => {
          said.push(piece.strings.join(''));
          return tx.query(piece);
        },
      });
      if (said.some((text) => text.includes('email.recipient r') && text.includes('delay_told_at'))) settling.push(said);
      return done;
    });
  return settling;
}

test('outcomes without endpoints cost one statement more, and with endpoints five statements a batch', async (t) => {
  const { qd, key } = await mailScene(t);
  const settling = countSettling(qd.app);
  const sendAll = async () => {
    settling.length = 0;
    const { body } = await key.post('/email/send', letter({ to: Array.from({ length: 20 }, (_, n) => `bob${n}@far.example`) }));
    await untilState(qd, body.id, 'delivered');
    return settling.map((said) => said.length);
  };
  for (const statements of await sendAll()) assert.equal(statements, 5);

  const endpoint = await listening(t);
  const { id } = await endpointAt(qd.owner, endpoint.url, 'email.bounced');
  for (const statements of await sendAll()) assert.equal(statements, 5, 'events without a subscription are not written');
  await qd.owner.patch(`/email/webhooks/${id}`, { eventTypes: ['email.delivered'] });
  for (const statements of await sendAll()) assert.equal(statements, 8);
  await endpoint.heard(20);
});
