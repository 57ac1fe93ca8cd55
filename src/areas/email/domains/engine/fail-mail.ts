import Type from 'typebox';
import type { Tx } from '../../../../kernel/db/index.ts';
import { job } from '../../../../kernel/jobs/index.ts';
import { emitEvents } from '../../webhooks/engine/emit-events.ts';
import { failedEventsOf } from '../../webhooks/engine/failed-events.ts';
import * as store from '../store/domain-mail.ts';

const batchSize = 200;
export const domainDeleted = 'the domain was deleted';

/** Fails one batch of unsendable messages. Returns its size: below the batch size, none is left. */
export async function failBatch(tx: Tx, org: string, domainId: string, why: string): Promise<number> {
  const messages = await store.lockUnfinished(tx, org, domainId, batchSize);
  if (!messages.length) return 0;
  const failed = await store.failRecipients(tx, org, messages, why);
  await store.failMessages(tx, org, messages, why);
  await emitEvents(tx, failedEventsOf(org, failed, why));
  return messages.length;
}

/** Safe to run twice and to be killed: each batch is one transaction. */
export const failMailOfDomain = job(
  'email.fail-mail-of-domain',
  { payload: Type.Object({ org: Type.String(), domainId: Type.String() }) },
  async ({ db, payload: { org, domainId }, signal }) => {
    for (let failed = batchSize; failed === batchSize; ) {
      signal.throwIfAborted();
      failed = await db.write((tx) => failBatch(tx, org, domainId, domainDeleted));
    }
  },
);
