import { dropElsewhere } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';

/** Whatever was made of what the public may know about an organization's services is forgotten for this topic. */
export const publicTopic = (org: string) => `public ${org}`;

/** In the transaction that changes it: an update published or retracted, a public incident's state, a monitor's, planned maintenance. */
export const publicChanged = (tx: Tx, org: string) => dropElsewhere(tx, publicTopic(org));
