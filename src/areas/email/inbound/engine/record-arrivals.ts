import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { hintEach } from '../../../../kernel/jobs/index.ts';
import { applyReport, type ReportResult } from '../../outbound/engine/feedback/index.ts';
import { emitEvents, type WebhookEvent } from '../../webhooks/engine/emit-events.ts';
import type { ReadMail, ReadResult } from '../clients/reader/index.ts';
import { receivedData } from '../rules/received-event.ts';
import * as store from '../store/arrivals.ts';
import type { LeasedArrival } from './in-flight.ts';

/** An arrival and the result of reading it. */
export interface ReadArrival {
  arrival: LeasedArrival;
  result: ReadResult;
}

interface RecordedBatch {
  /** Arrivals whose lease this process still held. */
  recorded: ReadonlySet<number>;
  reportResults: ReportResult[];
}

const routeGone = 'its route was deleted before it was told';

/**
 * In one transaction: writes the read result to the log, emits the event to the route's endpoint (or applies the report), and deletes the arrival.
 * So each arrival yields one event under one id, whichever process is killed. A process that lost the lease changes nothing.
 */
export async function recordArrivals(tx: Tx, app: App, read: readonly ReadArrival[]): Promise<RecordedBatch> {
  hintEach(
    tx,
    read.map(({ arrival }) => arrival.org_id),
    'email.message',
  );
  const [, owned] = await Promise.all([store.disableSeqScan(tx), store.deleteReadArrivals(tx, read.map(toReadRow), routeGone)]);
  const isRouted = new Map(owned.map(({ id, is_routed }) => [id, is_routed]));
  await emitEvents(
    tx,
    read.flatMap(({ arrival, result }) =>
      result.kind === 'mail' && isRouted.get(arrival.id) ? [receivedEventOf(app, { arrival, mail: result.mail })] : [],
    ),
  );
  const reportResults: ReportResult[] = [];
  for (const { arrival, result } of read) {
    if (result.kind !== 'report' || !isRouted.has(arrival.id)) continue;
    const about = { org: arrival.org_id, messageId: arrival.message_id, recipientId: arrival.recipient_id! };
    reportResults.push(await applyReport(tx, { ...about, parsed: result.report, reporter: result.reporter }));
  }
  return { recorded: new Set(isRouted.keys()), reportResults };
}

interface RoutedMail {
  arrival: LeasedArrival;
  mail: ReadMail;
}

function toReadRow({ arrival, result }: ReadArrival): store.ReadRow {
  const { id, lease, route_id: route } = arrival;
  return result.kind === 'mail'
    ? { arrival: id, lease, route, ...logFieldsOf({ arrival, mail: result.mail }), error: result.mail.problem }
    : { arrival: id, lease, route: null };
}

/** The log's fields from the header, or from the envelope where the header has none. */
const logFieldsOf = ({ arrival, mail }: RoutedMail) => ({
  id: arrival.message_id,
  sender: mail.from || arrival.envelope.mailFrom,
  recipients: mail.to.length > 0 ? mail.to : arrival.envelope.rcptTo.slice(0, 8),
  copies: mail.cc,
  subject: mail.subject,
  message_id: mail.headers.messageId ?? '',
});

function receivedEventOf(app: App, routed: RoutedMail): WebhookEvent {
  const { arrival, mail } = routed;
  const shown = logFieldsOf(routed);
  // 500 bytes for field names and ids.
  const usedBytes = Buffer.byteLength(JSON.stringify([shown.sender, shown.recipients, shown.copies, shown.subject])) + 500;
  const contentUrl = `${app.publicUrl()}/api/v1/email/messages/${arrival.message_id}/content`;
  return {
    org: arrival.org_id,
    type: 'email.received',
    messageId: arrival.message_id,
    endpointId: arrival.endpoint_id!,
    data: receivedData(mail, { envelope: arrival.envelope, routeId: arrival.route_id!, contentUrl }, usedBytes),
  };
}
