import { channelNamed } from '../../../../kernel/jobs/index.ts';

/** Told when there is something to send that a process may not know of, and when somebody's sending is paused or goes on. */
export const queueChannel = channelNamed('email.queue');
