import { account } from '../../../../contract/account.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { securityOf } from '../engine/security.ts';
import { securityView } from '../views/security.ts';

export const getSecurity = operation(account.getSecurity, async ({ ctx }) =>
  ctx.read(async (tx) => ok(securityView(await securityOf(tx, ctx.org)))),
);
