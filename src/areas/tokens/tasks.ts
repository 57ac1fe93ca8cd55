import { task } from '../../kernel/jobs/index.ts';
import { forgetSomeTokens } from './engine/tokens.ts';

/**
 * Deletes tokens that expired long ago. Programs mint short-lived tokens by the thousand, and a revocation of their minter has to lock them
 * all.
 */
export const forgetTokens = task('tokens.forget', { everySeconds: 3_600, deadlineSeconds: 60 }, async ({ app, signal }) => {
  while (!signal.aborted && (await app.db.write(forgetSomeTokens)));
});
