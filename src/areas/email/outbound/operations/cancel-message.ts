import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { cancelMessage as cancel } from '../engine/cancel.ts';

export const cancelMessage = operation(email.cancelMessage, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const message = await cancel(tx, ctx.principal!, params.id, ctx.requestId);
    return ok({ id: message.id, messageId: message.message_id });
  }),
);
