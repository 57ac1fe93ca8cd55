import { account } from '../../../../contract/account.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { topics } from '../../../identity/principal.ts';
import { notFound } from '../../../kernel/errors.ts';
import { endSessions } from '../engine/sessions.ts';

export const endSession = operation(account.endSession, async ({ ctx, params }) =>
  ctx.write(
    async (tx) => {
      const [ended] = await endSessions(tx, ctx.app, ctx.user, [params.id], ctx);
      if (ended === undefined) notFound('session');
      return noContent();
    },
    { revokes: [topics.session(ctx.user.id, params.id)] },
  ),
);
