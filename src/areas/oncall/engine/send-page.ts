import type { App } from '../../../kernel/app.ts';
import type { Db } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import { PageFailed, type PageToSend, type SendResult } from '../clients/channels/channel.ts';
import type { Channels } from '../clients/channels/index.ts';
import { failureOf, isKnownChannel, type Reachability } from '../rules/channels.ts';
import type { SendingRow } from '../store/pages.ts';
import { markBroken } from '../store/provider.ts';
import { ackUrl } from './ack-link.ts';
import { findRoute } from './reachability.ts';

/** A page with what its channel needs, of an incident or of a test. */
export interface PageInFlight
  extends Pick<
    SendingRow,
    | 'id'
    | 'incident_id'
    | 'user_id'
    | 'label'
    | 'channel'
    | 'address'
    | 'code'
    | 'held_back'
    | 'about'
    | 'attempts'
    | 'sending_at'
    | 'title'
    | 'service_name'
    | 'description'
  > {
  is_test?: true;
}

const pageToSend = (app: App, org: string, page: PageInFlight): PageToSend => ({
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
  ...(page.is_test ? { isTest: true } : {}),
});

/** A missing need is a failure in the timeline, never a page that silently stays unsent. */
function checkRoute(page: PageInFlight, reach: Reachability): void {
  const missing = failureOf(page.channel, reach, page.label);
  if (missing) throw new PageFailed(missing.sentence, missing.retryAdvice);
}

/** While two releases run, a worker of the older one may claim the page. The next rule fires, and a newer worker sends this page. */
function requireKnownChannel({ channel }: { channel: string }): void {
  if (isKnownChannel(channel)) return;
  throw new PageFailed(`this server is of an older release, which does not know the channel ${channel}`, 'until mended');
}

/** `db`: the connection pool reserved for the page lane. */
export interface Sender {
  app: App;
  db: Db;
  channels: Channels;
}

export async function sendPage(sender: Sender, org: string, page: PageInFlight): Promise<SendResult> {
  const { app, db, channels } = sender;
  requireKnownChannel(page);
  const { reach, context } = await findRoute(db, app, org, page);
  checkRoute(page, reach);
  const sent = await recordAccountRefusal(sender, org, channels[page.channel].send(pageToSend(app, org, page), context));
  if (reach.provider === 'broken') await recordBroken(sender, org, null);
  return sent;
}

const recordBroken = ({ db }: Sender, org: string, why: string | null) =>
  db
    .write((tx) => {
      hint(tx, org, 'oncall.provider');
      return markBroken(tx, org, why);
    })
    .catch(() => {});

/** Records an account refusal, so that previews warn about it. */
const recordAccountRefusal = <T>(sender: Sender, org: string, asked: Promise<T>): Promise<T> =>
  asked.catch(async (error) => {
    if (error instanceof PageFailed && error.accountRefused) await recordBroken(sender, org, error.accountRefused);
    throw error;
  });

/** The provider did not say whether an earlier attempt was sent; it is asked again later. */
export class SendOutcomeUnknown extends Error {}

/** Looks up an earlier attempt. Throws PageFailed if the outcome will never be known, so that the next rule does not wait. */
export async function findSent(sender: Sender, org: string, page: PageInFlight): Promise<SendResult | undefined> {
  const { app, db, channels } = sender;
  requireKnownChannel(page);
  const channel = channels[page.channel];
  if (!channel.find) return undefined;
  try {
    const { reach, context } = await findRoute(db, app, org, page);
    checkRoute(page, { ...reach, stopped: false }); // STOP blocks sending now; an earlier attempt may still have been sent
    return await recordAccountRefusal(sender, org, channel.find(pageToSend(app, org, page), context));
  } catch (error) {
    if (error instanceof PageFailed && error.retryAdvice === 'for good') throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new SendOutcomeUnknown(`it is not known whether an earlier attempt went out: ${why}`, { cause: error });
  }
}
