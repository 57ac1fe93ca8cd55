import type { App } from '../../../kernel/app.ts';
import type { Db } from '../../../kernel/db/index.ts';
import { PageFailed, type PageToSend, type SendResult } from '../clients/channels/channel.ts';
import type { Channels } from '../clients/channels/index.ts';
import { failureOf, type Reachability } from '../rules/channels.ts';
import type { SendingRow } from '../store/pages.ts';
import { markBroken } from '../store/provider.ts';
import { ackUrl } from './ack-link.ts';
import { findRoute } from './reachability.ts';

const pageToSend = (app: App, org: string, page: SendingRow): PageToSend => ({
  id: page.id,
  org,
  incident: {
    id: page.incident_id,
    title: page.title,
    serviceName: page.service_name,
    ...(page.description ? { description: page.description } : {}),
  },
  user: { id: page.user_id, label: page.label },
  channel: page.channel,
  address: page.address ?? '',
  code: page.code,
  heldBack: page.held_back,
  ...(page.about ? { about: page.about } : {}),
  attempt: page.attempts,
  sendingAt: page.sending_at,
  ackUrl: ackUrl(app, org, page.id),
});

/** Something missing is a failure that everybody sees, never a page that quietly stays away. */
function checkRoute(page: SendingRow, reach: Reachability): void {
  const missing = failureOf(page.channel, reach, page.label);
  if (missing) throw new PageFailed(missing.sentence, missing.retryAdvice);
}

/** What sends: `db` is the connections of the lane that pages have to themselves. */
export interface Sender {
  app: App;
  db: Db;
  channels: Channels;
}

export async function sendPage(sender: Sender, org: string, page: SendingRow): Promise<SendResult> {
  const { app, db, channels } = sender;
  const { reach, context } = await findRoute(db, app, org, page);
  checkRoute(page, reach);
  const sent = await recordAccountRefusal(sender, org, channels[page.channel].send(pageToSend(app, org, page), context));
  if (reach.provider === 'broken') await recordBroken(sender, org, null);
  return sent;
}

const recordBroken = ({ db }: Sender, org: string, why: string | null) => db.write((tx) => markBroken(tx, org, why)).catch(() => {});

/** Whoever previews is told when the provider refuses not the page but the account. */
const recordAccountRefusal = <T>(sender: Sender, org: string, asked: Promise<T>): Promise<T> =>
  asked.catch(async (error) => {
    if (error instanceof PageFailed && error.accountRefused) await recordBroken(sender, org, error.accountRefused);
    throw error;
  });

/** Not known whether an earlier attempt handed it over: the provider says, or we ask again later. */
export class SendOutcomeUnknown extends Error {}

/** Throws PageFailed when it will never be known: nobody is kept waiting for that. */
export async function findSent(sender: Sender, org: string, page: SendingRow): Promise<SendResult | undefined> {
  const { app, db, channels } = sender;
  const channel = channels[page.channel];
  if (!channel.find) return undefined;
  try {
    const { reach, context } = await findRoute(db, app, org, page);
    checkRoute(page, { ...reach, stopped: false }); // STOP keeps a message from going out now, not from having gone out before
    return await recordAccountRefusal(sender, org, channel.find(pageToSend(app, org, page), context));
  } catch (error) {
    if (error instanceof PageFailed && error.retryAdvice === 'for good') throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new SendOutcomeUnknown(`it is not known whether an earlier attempt went out: ${why}`, { cause: error });
  }
}
