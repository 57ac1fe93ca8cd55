import { task } from '../../kernel/jobs/index.ts';
import { announceForgotten, forgetOld, forgetSomeAllowances, forgetSomeUnconfirmed } from './engine/announce.ts';

const forget = task('status.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  while (!signal.aborted && (await app.db.write(forgetSomeUnconfirmed)));
  while (!signal.aborted && (await app.db.write(forgetSomeAllowances)));
  await app.db.write(forgetOld);
});

/** What a server of the release before published is announced all the same. */
const findForgotten = task('status.find-forgotten', { everySeconds: 60, deadlineSeconds: 60 }, async ({ app, signal, log }) => {
  const updates = await announceForgotten(app.db, signal);
  if (updates) log.info({ updates }, 'updates of a server of the release before are announced now');
});

export const tasks = [forget, findForgotten];
