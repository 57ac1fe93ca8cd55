import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { notFound } from '../../../../kernel/errors.ts';
import { findMessage, listEvents, listRecipients } from '../store/messages.ts';
import { deferralView, eventView, messageView, recipientView } from '../views/message.ts';

export const getMessage = operation(email.getMessage, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const message = (await findMessage(tx, ctx.org, params.id)) ?? notFound('message');
    ctx.require(message.domain_id);
    const [events, recipients] = await Promise.all([listEvents(tx, message.id), listRecipients(tx, message.id)]);
    return ok({
      message: messageView(message),
      events: events.flatMap((event) => eventView(event) ?? []),
      deferrals: events.flatMap((event) => deferralView(event) ?? []),
      recipients: recipients.map(recipientView),
    });
  }),
);
