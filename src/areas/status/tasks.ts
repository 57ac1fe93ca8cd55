import { task } from '../../kernel/jobs/index.ts';
import { forgetOld } from './engine/announce.ts';

const forget = task('status.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app }) => {
  await app.db.write(forgetOld);
});

export const tasks = [forget];
