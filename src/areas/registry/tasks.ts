import type { App } from '../../kernel/app.ts';
import { type Task, task } from '../../kernel/jobs/index.ts';
import { forgetOldKeys } from './engine/credentials/keys.ts';
import { collect } from './engine/gc/collect.ts';
import { retain } from './engine/gc/retain.ts';
import { scrub } from './engine/gc/scrub.ts';
import { expireUploads } from './engine/gc/uploads.ts';
import { settingsOf } from './engine/settings.ts';
import { collectTask } from './store/queue.ts';

const engineOf = (app: App) => ({ app, settings: settingsOf(app) });

/** All of them may stop anywhere and be run again: each step is a transaction that looks before it acts. */
export const tasks: Task[] = [
  task(collectTask, { everySeconds: 30, deadlineSeconds: 600 }, ({ app, signal, log }) => collect(engineOf(app), signal, log)),
  task('registry.expire-uploads', { everySeconds: 300, deadlineSeconds: 300 }, ({ app, signal }) => expireUploads(app, signal)),
  task('registry.retain', { everySeconds: 3_600, deadlineSeconds: 1_800 }, ({ app, signal, log }) => retain(engineOf(app), signal, log)),
  task('registry.scrub', { everySeconds: 86_400, deadlineSeconds: 7_200 }, ({ app, signal, log }) => scrub(engineOf(app), signal, log)),
  task('registry.forget-keys', { everySeconds: 3_600, deadlineSeconds: 60 }, ({ app }) => app.db.write(forgetOldKeys)),
];
