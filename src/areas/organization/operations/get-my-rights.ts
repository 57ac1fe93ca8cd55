import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { rightsView } from '../views/rights.ts';

/** Shows the principal that this very request was judged by. */
export const getMyRights = operation(organization.getMyRights, async ({ ctx }) => ok(rightsView(ctx.principal)));
