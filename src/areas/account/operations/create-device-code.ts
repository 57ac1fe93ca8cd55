import { account } from '../../../../contract/account.ts';
import { created, operation } from '../../../identity/operation.ts';
import { askForApproval } from '../engine/device.ts';

export const createDeviceCode = operation(account.createDeviceCode, async ({ ctx, body }) =>
  created(await ctx.app.db.write((tx) => askForApproval(tx, ctx.app, { program: body.program, address: ctx.address() }))),
);
