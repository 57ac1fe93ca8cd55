import { notifyDrop } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';

/** Cache topic of everything derived from the public data of an organization's services. */
export const publicTopic = (org: string) => `public ${org}`;

/** Runs in the transaction that changes public data: an update, a public incident's status, a monitor's state, planned maintenance. */
export const publicChanged = (tx: Tx, org: string) => notifyDrop(tx, publicTopic(org));
