import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { notFound } from '../../../../kernel/errors.ts';
import { findMessage, listEvents } from '../store/messages.ts';
import { eventView, messageView } from '../views/message.ts';

export const getMessage = operation(email.getMessage, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const message = (await findMessage(tx, ctx.org, params.id)) ?? notFound('message');
    ctx.require(message.domain_id);
    return ok({ message: messageView(message), events: (await listEvents(tx, message.id)).map(eventView) });
  }),
);
