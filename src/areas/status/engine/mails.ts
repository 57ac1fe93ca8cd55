import Type from 'typebox';
import type { App } from '../../../kernel/app.ts';
import { GiveUp } from '../../../kernel/jobs/declare.ts';
import { job } from '../../../kernel/jobs/index.ts';
import { type Message, NotDelivered } from '../../../kernel/mail.ts';
import { publicUpdate } from '../../oncall/index.ts';
import { pageUrl } from '../rules/addresses.ts';
import { confirmationMail } from '../views/mail/confirmation.ts';
import { updateMail } from '../views/mail/update.ts';
import { publicId } from '../rules/public-id.ts';
import { servicesOf } from './services-shown.ts';
import { pageById } from '../store/status-pages.ts';
import { subscriberById, tokenPlace } from '../store/subscribers.ts';

// The text of a mail is made when it is sent: a queue that waits for a relay holds neither tokens nor words that were taken back.

/** The link that a new subscriber follows. Run twice, it may arrive twice, with one Message-ID and the same link. */
export const sendConfirmation = job('status.send-confirmation', { lane: 'mail', maxAttempts: 8 }, async ({ app, key, org }) => {
  const found = await app.db.read(async (tx) => {
    const subscriber = await subscriberById(tx, org!, key);
    const page = subscriber && (await pageById(tx, org!, subscriber.page_id));
    return page && { subscriber, page };
  });
  if (found?.subscriber.state !== 'pending') return;
  const { subscriber, page } = found;
  await deliver(app, {
    ...confirmationMail({
      address: subscriber.address,
      pageTitle: page.title,
      url: pageUrl(app, page.slug),
      token: app.secrets.unseal(subscriber.token, tokenPlace(subscriber.id)),
    }),
    id: publicId(`confirmation ${key}`),
  });
});

const UpdateMail = Type.Object({ updateId: Type.String(), subscriberId: Type.String() });

/**
 * One update to one subscriber. What was retracted, and who has left, is found out here, right before it is sent. Run twice, after a
 * crash between the relay's yes and our record of it, it may arrive twice, with one Message-ID.
 */
export const sendUpdate = job(
  'status.send-update',
  { lane: 'mail', payload: UpdateMail, maxAttempts: 10 },
  async ({ app, key, org, payload }) => {
    const found = await app.db.read(async (tx) => {
      const update = await publicUpdate(tx, org!, payload.updateId);
      const subscriber = update && (await subscriberById(tx, org!, payload.subscriberId));
      const page = subscriber?.state === 'active' ? await pageById(tx, org!, subscriber.page_id) : undefined;
      if (!update || !subscriber || !page) return undefined;
      const service = (await servicesOf(app, tx, page)).find((s) => s.id === update.serviceId);
      return service && { update, subscriber, page, service };
    });
    if (!found) return;
    const { update, subscriber, page, service } = found;
    await deliver(app, {
      ...updateMail({
        address: subscriber.address,
        page: { title: page.title, url: pageUrl(app, page.slug), timezone: page.timezone },
        service: service.name,
        incident: { id: publicId(update.incidentId), title: update.title },
        update,
        token: app.secrets.unseal(subscriber.token, tokenPlace(subscriber.id)),
      }),
      id: publicId(`mail ${key}`),
    });
  },
);

const deliver = (app: App, message: Message) =>
  app.mail.deliver(message).catch((error) => {
    throw error instanceof NotDelivered && error.permanent ? new GiveUp(error.message, { cause: error }) : error;
  });
