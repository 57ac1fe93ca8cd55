import { forgetSomeTokens } from '../../identity/engine/tokens.ts';
import { task } from '../../kernel/jobs/index.ts';

/** Programs mint short-lived tokens by the thousand: what has been over for long would be in the way of whoever revokes their minter. */
export const forgetTokens = task('tokens.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  while (!signal.aborted && (await app.db.write(forgetSomeTokens)));
});
