import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { ReadMail, ReadResult } from '../../clients/reader/index.ts';
import { receivedData } from '../../rules/received-event.ts';
import * as store from '../../store/arrivals.ts';
import { knownRoutes } from '../../store/routes.ts';
import { applyReport, type Following } from '../feedback/index.ts';
import { type Happening, tellEndpoints } from '../webhooks/tell.ts';

/** Something that arrived, and what was read of it. */
export interface ReadArrival {
  arrival: store.ArrivalRow;
  result: ReadResult;
}

/**
 * In one transaction: what was read is in the log, the endpoint of its route is told (and a report applied), and the arrival is gone. So
 * whatever is killed, it is told of once, under one id; who lost the lease meanwhile changes nothing.
 */
export async function freezeArrivals(tx: Tx, app: App, read: readonly ReadArrival[]): Promise<{ told: number; followed: Following[] }> {
  const ours = await store.takeOut(
    tx,
    read.map(({ arrival }) => arrival),
  );
  const mine = read.filter(({ arrival }) => ours.has(arrival.id));
  const mails = mine.flatMap(({ arrival, result }) => (result.kind === 'mail' ? [{ arrival, mail: result.mail }] : []));
  if (mails.length > 0) await tellMails(tx, app, mails);
  const followed: Following[] = [];
  for (const { arrival, result } of mine) {
    if (result.kind !== 'report') continue;
    const about = { org: arrival.org_id, messageId: arrival.message_id, recipientId: arrival.recipient_id! };
    followed.push(await applyReport(tx, { ...about, parsed: result.report }));
  }
  return { told: mine.length, followed };
}

interface Told {
  arrival: store.ArrivalRow;
  mail: ReadMail;
}

const routeGone = 'its route was deleted before it was told';

async function tellMails(tx: Tx, app: App, mails: readonly Told[]): Promise<void> {
  const routes = await knownRoutes(
    tx,
    mails.map(({ arrival }) => arrival.route_id!),
  );
  const isRouted = ({ arrival }: Told) => routes.has(arrival.route_id!);
  const rows = mails.map((told) => describe(told, isRouted(told) ? told.mail.problem : routeGone, !isRouted(told)));
  await store.describeReceived(tx, rows);
  await tellEndpoints(
    tx,
    mails.filter(isRouted).map((told) => happeningOf(app, told)),
  );
}

/** As the log shows it: by its header; what has none is shown as its envelope has it. */
const describe = ({ arrival, mail }: Told, error: string | null, hasFailed: boolean): store.ReadRow => ({
  id: arrival.message_id,
  sender: mail.from || arrival.envelope.mailFrom,
  recipients: mail.to.length > 0 ? mail.to : arrival.envelope.rcptTo.slice(0, 8),
  copies: mail.cc,
  subject: mail.subject,
  message_id: mail.headers.messageId ?? '',
  error,
  has_failed: hasFailed,
});

function happeningOf(app: App, told: Told): Happening {
  const { arrival, mail } = told;
  const shown = describe(told, null, false);
  // The names and ids around it are short.
  const taken = Buffer.byteLength(JSON.stringify([shown.sender, shown.recipients, shown.copies, shown.subject])) + 500;
  const contentUrl = `${app.publicUrl()}/api/v1/email/messages/${arrival.message_id}/content`;
  return {
    ...{ org: arrival.org_id, type: 'email.received', messageId: arrival.message_id, endpointId: arrival.endpoint_id! },
    data: receivedData(mail, { envelope: arrival.envelope, routeId: arrival.route_id!, contentUrl }, taken),
  };
}
