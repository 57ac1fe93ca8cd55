import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { ReadMail, ReadResult } from '../../clients/reader/index.ts';
import { receivedData } from '../../rules/received-event.ts';
import * as store from '../../store/receiving/arrivals.ts';
import { applyReport, type Following } from '../feedback/index.ts';
import { type Happening, tellEndpoints } from '../webhooks/tell.ts';
import type { HeldArrival } from './holdings.ts';

/** Something that arrived, and what was read of it. */
export interface ReadArrival {
  arrival: HeldArrival;
  result: ReadResult;
}

/** What became of a batch. */
interface Frozen {
  /** Arrivals that were still ours. */
  told: ReadonlySet<number>;
  followed: Following[];
}

const routeGone = 'its route was deleted before it was told';

/**
 * In one transaction: what was read is in the log, the endpoint of its route is told (and a report applied), and the arrival is gone. So
 * whatever is killed, it is told of once, under one id; who lost the lease meanwhile changes nothing.
 */
export async function freezeArrivals(tx: Tx, app: App, read: readonly ReadArrival[]): Promise<Frozen> {
  const [, ours] = await Promise.all([store.findByIndex(tx), store.takeOut(tx, read.map(describe), routeGone)]);
  const isRouted = new Map(ours.map(({ id, is_routed }) => [id, is_routed]));
  await tellEndpoints(
    tx,
    read.flatMap(({ arrival, result }) =>
      result.kind === 'mail' && isRouted.get(arrival.id) ? [happeningOf(app, { arrival, mail: result.mail })] : [],
    ),
  );
  const followed: Following[] = [];
  for (const { arrival, result } of read) {
    if (result.kind !== 'report' || !isRouted.has(arrival.id)) continue;
    const about = { org: arrival.org_id, messageId: arrival.message_id, recipientId: arrival.recipient_id! };
    followed.push(await applyReport(tx, { ...about, parsed: result.report, reporter: result.reporter }));
  }
  return { told: new Set(isRouted.keys()), followed };
}

interface Told {
  arrival: HeldArrival;
  mail: ReadMail;
}

function describe({ arrival, result }: ReadArrival): store.ReadRow {
  const { id, lease, route_id: route } = arrival;
  return result.kind === 'mail'
    ? { arrival: id, lease, route, ...show({ arrival, mail: result.mail }), error: result.mail.problem }
    : { arrival: id, lease, route: null };
}

/** As the log shows it: by its header; what has none is shown as its envelope has it. */
const show = ({ arrival, mail }: Told) => ({
  id: arrival.message_id,
  sender: mail.from || arrival.envelope.mailFrom,
  recipients: mail.to.length > 0 ? mail.to : arrival.envelope.rcptTo.slice(0, 8),
  copies: mail.cc,
  subject: mail.subject,
  message_id: mail.headers.messageId ?? '',
});

function happeningOf(app: App, told: Told): Happening {
  const { arrival, mail } = told;
  const shown = show(told);
  // The names and ids around it are short.
  const taken = Buffer.byteLength(JSON.stringify([shown.sender, shown.recipients, shown.copies, shown.subject])) + 500;
  const contentUrl = `${app.publicUrl()}/api/v1/email/messages/${arrival.message_id}/content`;
  return {
    ...{ org: arrival.org_id, type: 'email.received', messageId: arrival.message_id, endpointId: arrival.endpoint_id! },
    data: receivedData(mail, { envelope: arrival.envelope, routeId: arrival.route_id!, contentUrl }, taken),
  };
}
