import { organization } from '../../../../contract/organization.ts';
import { created, operation } from '../../../identity/operation.ts';
import { join } from '../join.ts';

export const acceptInvitation = operation(organization.acceptInvitation, async ({ ctx, body }) =>
  ctx.write(async (tx) => created(await join(tx, ctx, body.secret, body.name))),
);
