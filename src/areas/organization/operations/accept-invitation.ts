import { organization } from '../../../../contract/organization.ts';
import { joinByInvitation } from '../../../identity/engine/invitations.ts';
import { created, operation } from '../../../identity/operation.ts';

export const acceptInvitation = operation(organization.acceptInvitation, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const joined = await joinByInvitation(tx, ctx, body.secret, body.name);
    return created(joined, `/organization/members/${joined.userId}`);
  }),
);
