import { task } from '../../kernel/jobs/index.ts';
import { forgetExpired } from './store.ts';

/** A token that is over stays listed this long, so that its owner sees what ended. */
const listedDays = 90;
const portion = 1_000;

/** Programs mint short-lived tokens by the thousand: what has been over for long would be in the way of whoever revokes their minter. */
export const forgetTokens = task('tokens.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  while (!signal.aborted && (await app.db.write((tx) => forgetExpired(tx, listedDays, portion))) === portion);
});
