import { type Task, task } from '../../kernel/jobs/index.ts';
import { certificatesDue, keepCertificates } from './engine/keep-certificates.ts';
import type { OpenCertificates } from './open.ts';

/** Orders and renews. Safe to run twice: each step of an order is stored before its request, over the version that was read. */
const keep = task<OpenCertificates>(certificatesDue, { everySeconds: 60, deadlineSeconds: 600 }, async ({ app, signal, log }, { acme }) => {
  if (acme) await keepCertificates({ app, signal, log, ...acme });
});

export const tasks: Task<OpenCertificates>[] = [keep];
