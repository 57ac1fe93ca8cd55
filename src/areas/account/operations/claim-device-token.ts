import { account } from '../../../../contract/account.ts';
import { created, operation } from '../../../identity/operation.ts';
import { claimToken } from '../engine/device.ts';

/** The device code alone counts: a token or session that comes with it decides nothing. */
export const claimDeviceToken = operation(account.claimDeviceToken, async ({ ctx, body }) =>
  created(await claimToken(ctx.app, body.deviceCode, ctx.requestId)),
);
