import { task } from '../../kernel/jobs/index.ts';
import { updatePublished } from '../oncall/index.ts';
import { announceUpdate, forgetOld, listUnannounced } from './engine/announce.ts';

/** On-call wakes this when it publishes an update; what a lost wake leaves behind is found by the clock. */
const announce = task(updatePublished, { everySeconds: 30, deadlineSeconds: 60 }, async ({ app, signal }) => {
  for (const update of await app.db.read(listUnannounced)) {
    signal.throwIfAborted();
    await app.db.write((tx) => announceUpdate(tx, update));
  }
});

const forget = task('status.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app }) => {
  await app.db.write(forgetOld);
});

export const tasks = [announce, forget];
