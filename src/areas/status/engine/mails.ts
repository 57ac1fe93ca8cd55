import Type from 'typebox';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { GiveUp } from '../../../kernel/jobs/declare.ts';
import { type JobRun, job } from '../../../kernel/jobs/index.ts';
import { type Message, NotDelivered } from '../../../kernel/mail.ts';
import { publicResolution, publicUpdate } from '../../oncall/index.ts';
import { namedServices } from '../../services/index.ts';
import { publicId } from '../rules/public-id.ts';
import { countEnded, type MailFate } from '../store/mailings.ts';
import { findStatusPageById } from '../store/status-pages.ts';
import { findSubscriber, tokenSealContext } from '../store/subscribers.ts';
import { confirmationMail } from '../views/mail/confirmation.ts';
import { updateMail } from '../views/mail/update.ts';
import { durationBetween } from '../views/render/labels.ts';
import { pageUrl } from './base-url.ts';

// The text is rendered when the mail is sent, so the queue holds neither tokens nor retracted text.

/** Sends the confirmation link. Run twice, the mail may arrive twice, with one Message-ID and the same link. */
export const sendConfirmation = job('status.send-confirmation', { lane: 'mail', maxAttempts: 8 }, async ({ app, key, org }) => {
  const facts = await app.db.read(async (tx) => {
    const subscriber = await findSubscriber(tx, org!, key);
    const page = subscriber && (await findStatusPageById(tx, org!, subscriber.page_id));
    return page && { subscriber, page };
  });
  if (facts?.subscriber.state !== 'pending') return;
  const { subscriber, page } = facts;
  await deliver(app, {
    ...confirmationMail({
      address: subscriber.address,
      pageTitle: page.title,
      url: pageUrl(app, page),
      token: app.secrets.unseal(subscriber.token, tokenSealContext(subscriber.id)),
    }),
    org: org!,
    id: publicId(`confirmation ${key}`),
  });
});

/** Attempts of a mail about an event; the last one that fails is counted as its end. */
const maxAttempts = 10;

const UpdateMail = Type.Object({ updateId: Type.String(), subscriberId: Type.String() });

/**
 * Mails one update to one subscriber. Retractions and unsubscriptions are checked right before sending. After a crash between the relay's
 * answer and our record, the mail may arrive twice with one Message-ID.
 */
export const sendUpdate = job('status.send-update', { lane: 'mail', payload: UpdateMail, maxAttempts }, (run) => {
  const { org = '', payload } = run;
  return mailOnce(run, payload.updateId, payload.subscriberId, (tx) => publicUpdate(tx, org, payload.updateId));
});

const ResolutionMail = Type.Object({ incidentId: Type.String(), subscriberId: Type.String() });

/** Mails the end of an incident to one subscriber, like an update. */
export const sendResolution = job('status.send-resolution', { lane: 'mail', payload: ResolutionMail, maxAttempts }, (run) => {
  const { org = '', payload } = run;
  const { incidentId, subscriberId } = payload;
  return mailOnce(run, incidentId, subscriberId, async (tx) => {
    const over = await publicResolution(tx, org, incidentId);
    return (
      over && {
        ...over,
        incidentId,
        state: 'resolved',
        body: `This incident is resolved. It lasted ${durationBetween(over.openedAt, over.at)}.`,
      }
    );
  });
});

type UpdateToMail = NonNullable<Awaited<ReturnType<typeof publicUpdate>>>;

type FindUpdate = (tx: Tx) => Promise<UpdateToMail | undefined>;

/** Sends the mail and counts how it ended, for the story of its incident. The count commits with the end of the job. */
async function mailOnce(run: JobRun<unknown>, eventId: string, subscriberId: string, find: FindUpdate): Promise<void> {
  const { app, db, org = '', key, attempt } = run;
  const fate = await mailSubscriber(app, org, key, subscriberId, find).catch(async (error) => {
    const isLast = error instanceof GiveUp || (attempt >= maxAttempts && !run.signal.aborted);
    if (isLast) await db.write((tx) => countEnded(tx, org, eventId, 'failed'));
    throw error;
  });
  await run.finishWith((tx) => countEnded(tx, org, eventId, fate));
}

async function mailSubscriber(app: App, org: string, key: string, subscriberId: string, find: FindUpdate): Promise<MailFate> {
  const facts = await app.db.read(async (tx) => {
    const update = await find(tx);
    const subscriber = update && (await findSubscriber(tx, org, subscriberId));
    const page = subscriber?.state === 'active' ? await findStatusPageById(tx, org, subscriber.page_id) : undefined;
    if (!update || !subscriber || !page) return undefined;
    if (!page.service_ids.includes(update.serviceId)) return undefined;
    const service = (await namedServices(tx, page.org_id, [update.serviceId])).get(update.serviceId) ?? update.serviceName;
    return { update, subscriber, page, service };
  });
  if (!facts) return 'dropped';
  const { update, subscriber, page, service } = facts;
  await deliver(app, {
    ...updateMail({
      address: subscriber.address,
      page: { title: page.title, url: pageUrl(app, page), timezone: page.timezone },
      service,
      incident: { id: publicId(update.incidentId), title: update.title },
      update,
      token: app.secrets.unseal(subscriber.token, tokenSealContext(subscriber.id)),
    }),
    org,
    id: publicId(`mail ${key}`),
  });
  return 'sent';
}

const deliver = (app: App, message: Message) =>
  app.mail.deliver(message).catch((error) => {
    throw error instanceof NotDelivered && error.retryAdvice === 'for good' ? new GiveUp(error.message, { cause: error }) : error;
  });
