import { type Task, task } from '../../kernel/jobs/index.ts';
import { forgetOldKeys } from './engine/credentials/keys.ts';
import { collect } from './engine/gc/collect.ts';
import { expireUploads } from './engine/gc/expire-uploads.ts';
import { keepFigures } from './engine/gc/figures.ts';
import { retain } from './engine/gc/retain.ts';
import { scrub } from './engine/gc/scrub.ts';
import { weighManifests } from './engine/gc/weigh.ts';
import type { Engine } from './engine/settings.ts';
import { keepUsage } from './engine/usage.ts';
import { weighTask } from './store/content.ts';
import { collectTask } from './store/queue.ts';
import { expireTask } from './store/uploads.ts';

/** Every task may stop anywhere and run again: each step is a transaction that checks before it acts. */
export const tasks: Task<Engine>[] = [
  task(collectTask, { everySeconds: 30, deadlineSeconds: 600 }, ({ signal, log }, engine: Engine) => collect(engine, signal, log)),
  task(expireTask, { everySeconds: 300, deadlineSeconds: 300 }, ({ app, signal }) => expireUploads(app, signal)),
  task(weighTask, { everySeconds: 60, deadlineSeconds: 600 }, ({ app, signal, log }) => weighManifests(app, signal, log)),
  task('registry.keep-figures', { everySeconds: 30, deadlineSeconds: 600 }, ({ app, signal }) => keepFigures(app, signal)),
  task('registry.keep-usage', { everySeconds: 3_600, deadlineSeconds: 600 }, ({ app, signal }) => keepUsage(app, signal)),
  task('registry.retain', { everySeconds: 3_600, deadlineSeconds: 1_800 }, ({ signal, log }, engine: Engine) =>
    retain(engine, signal, log),
  ),
  task('registry.scrub', { everySeconds: 86_400, deadlineSeconds: 7_200 }, ({ signal, log }, engine: Engine) => scrub(engine, signal, log)),
  task('registry.forget-keys', { everySeconds: 3_600, deadlineSeconds: 60 }, ({ app, signal }) => forgetOldKeys(app.db, signal)),
];
