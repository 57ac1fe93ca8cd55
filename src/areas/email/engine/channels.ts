import { channelNamed } from '../../../kernel/jobs/index.ts';

/** Notified when recipients wait that a process may not know of, and when an organization's sending is paused or resumed. */
export const queueChannel = channelNamed('email.queue');

/** Notified when an arrival waits that no process has leased. */
export const arrivalsChannel = channelNamed('email.arrivals');
