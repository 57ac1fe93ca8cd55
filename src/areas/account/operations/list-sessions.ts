import { account } from '../../../../contract/account.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { sessionsOf } from '../../../identity/store/sessions.ts';
import { sessionView } from '../views/session.ts';

export const listSessions = operation(account.listSessions, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ sessions: (await sessionsOf(tx, ctx.user.id)).map((s) => sessionView(s, ctx.principal.id)) })),
);
