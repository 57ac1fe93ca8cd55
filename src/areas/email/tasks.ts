import { type Task, task } from '../../kernel/jobs/index.ts';
import { checkDueDomains, checksDue } from './engine/domains/check-due.ts';

/** Looks whether domains have their records. Safe to run twice: a check counts only for a domain that is as it was when it was read. */
export const checkDomains = task(checksDue, { everySeconds: 15, deadlineSeconds: 300 }, ({ app, signal, log }) =>
  checkDueDomains(app, signal, log),
);

export const tasks: Task[] = [checkDomains];
