import { type Actor, audit } from '../../../../identity/audit.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { freeReceived, listSenders } from '../store/received-senders.ts';
import { rowOverheadBytes } from './batch.ts';

const batchSize = 1_000;

export interface Freed {
  messages: number;
  bytes: number;
}

/** The twenty senders that use most of an organization's inbound quota. */
export const showSenders = (tx: Tx, org: string) => listSenders(tx, org, 20);

/** Drops the content of one sender's finished messages, a batch per transaction, to free quota for other senders. */
export async function freeSender(
  inTransaction: <T>(work: (tx: Tx) => Promise<T>) => Promise<T>,
  actor: Actor,
  sender: string,
): Promise<Freed> {
  const all: Freed = { messages: 0, bytes: 0 };
  for (let last = batchSize; last === batchSize; ) {
    const { messages, bytes } = await inTransaction((tx) =>
      freeReceived(tx, { org: actor.org, sender, limit: batchSize, overhead: rowOverheadBytes }),
    );
    all.messages += messages;
    all.bytes += bytes;
    last = messages;
  }
  await inTransaction((tx) => audit(tx, actor, 'email.inbound.free', { id: actor.org }, { sender, ...all }));
  return all;
}
