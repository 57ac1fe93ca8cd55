import { dropElsewhere } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db.ts';
import { channelNamed, wake } from '../../../kernel/jobs/index.ts';

/** Whatever was made of what the public may know about an organization's services is forgotten for this topic. */
export const publicTopic = (org: string) => `public ${org}`;

/** In the transaction that changes it: an update published or retracted, a public incident's state, a monitor's, planned maintenance. */
export const publicChanged = (tx: Tx, org: string) => dropElsewhere(tx, publicTopic(org));

/** The task that tells subscribers of status pages what is new. It is named here, since whoever publishes knows no status pages. */
export const announceTask = channelNamed('status.announce');

/** In the transaction that publishes an update: pages show it, and subscribers are told. */
export async function publicUpdated(tx: Tx, org: string): Promise<void> {
  await publicChanged(tx, org);
  wake(tx, announceTask);
}
