import { organization } from '../../../../contract/organization.ts';
import { created, operation } from '../../../identity/operation.ts';
import { joinByInvitation } from '../engine/invitations.ts';

export const acceptInvitation = operation(organization.acceptInvitation, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const joined = await joinByInvitation(tx, ctx, body.secret, body.name);
    return created(joined, `/organization/members/${joined.userId}`);
  }),
);
