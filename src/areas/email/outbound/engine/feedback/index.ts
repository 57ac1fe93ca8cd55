/**
 * Feedback: applies bounce reports (DSN) and complaints (ARF) to recipients of sent mail.
 *
 * Flow: the MX listener accepts mail to a return path, which names one recipient (`return-path.ts`) → the arrival reader parses it in a
 * thread → `recordArrivals` calls `applyReport` in its transaction. The simulator calls it too.
 *
 * `followReport` (rules/report) decides the new state: bounced, complained, delivered, or no change. Then, in the same transaction: the recipient's
 * row and its events, a suppression (hard bounce or complaint), webhook events, the hourly counts, and the automatic pause of the organization.
 * A complaint counts towards that pause only if its reporter is verified; it suppresses the recipient in any case. The product's own mail and the
 * simulator's addresses suppress and count nothing.
 *
 * Crash and repetition: before the commit nothing has happened, after it everything has. A second run finds the state as the report says, and
 * changes nothing.
 */

import type { App } from '../../../../../kernel/app.ts';
import type { Tx } from '../../../../../kernel/db/index.ts';
import type { WebhookEvent } from '../../../webhooks/engine/emit-events.ts';
import { emitEvents } from '../../../webhooks/engine/emit-events.ts';
import { effectOfReport, type ReportEffect } from '../../rules/report/effect.ts';
import type { Report } from '../../rules/report/index.ts';
import type { Reporter } from '../../rules/report/reporter.ts';
import { isSimulated } from '../../rules/simulator.ts';
import * as store from '../../store/feedback.ts';
import { addReportedOutcome } from '../../store/outcome-days.ts';
import { addReportedCounts } from '../../store/sending-pause.ts';
import { bouncePayload, type ComplaintCounting, complaintPayload } from '../../views/feedback.ts';
import { suppressionView } from '../../views/suppression.ts';
import { pauseIfOverLimits } from '../sending-pause.ts';

/** A parsed mail that came to a recipient's return path. */
export interface ArrivedReport {
  org: string;
  messageId: string;
  /** The recipient that the return path names; addresses inside the report do not count. */
  recipientId: number;
  parsed: Report;
  /** The verified sender of a complaint; undefined: not verified. */
  reporter?: Reporter | undefined;
}

/** The recipient's new state, or `nothing`. */
export type ReportResult = 'bounced' | 'complained' | 'delivered' | 'nothing';

export const takeReport = (app: App, report: ArrivedReport): Promise<ReportResult> => app.db.write((tx) => applyReport(tx, report));

export async function applyReport(tx: Tx, { org, messageId, recipientId, parsed, reporter }: ArrivedReport): Promise<ReportResult> {
  const known = await store.lockReported(tx, org, messageId, recipientId);
  if (!known) return 'nothing';
  const { folded, state, attempts } = known;
  const decided = effectOfReport({ address: folded, others: new Set(known.others), state, wasAttempted: attempts > 0 }, parsed);
  if (!decided) return 'nothing';
  const change: ReportedChange = decided.to === 'complained' ? { ...decided, standing: standingOf(reporter) } : decided;

  // The simulator's mail and the product's own do not count for any organization.
  const isJudged = known.door !== 'relay' && !isSimulated(folded);
  const isHard = change.to === 'bounced' && change.said.bounceType === 'hard';
  const isComplaint = change.to === 'complained';
  // An unverified complaint suppresses this recipient, and does not count towards the organization's limits.
  const isCounted = isHard || (change.to === 'complained' && change.standing.counted);
  const isFirst = !known.is_sent && known.door !== 'relay';
  const suppression = await store.writeReportedOutcome(tx, {
    recipientId,
    messageId,
    org,
    address: known.address,
    state: change.to,
    isFirst,
    ...logFieldsOf(change),
    suppress: isJudged && (isHard || isComplaint) ? { folded, reason: isHard ? 'bounce' : 'complaint' } : null,
  });
  if (known.door !== 'relay') await emitEvents(tx, reportEventsOf(known, change, isFirst, suppression));
  if (isJudged)
    await addReportedOutcome(tx, org, messageId, {
      sent: known.is_done ? 0 : 1,
      [change.to]: 1,
      hard: isHard ? 1 : 0,
    });
  if (isJudged && (isCounted || !known.is_done)) {
    const complaints = isComplaint && isCounted ? 1 : 0;
    await addReportedCounts(tx, org, { recipients: known.is_done ? 0 : 1, hard: isHard ? 1 : 0, complaints, since: known.since });
    if (isCounted) await pauseIfOverLimits(tx, [org]);
  }
  return change.to;
}

type ReportedChange =
  | Exclude<NonNullable<ReportEffect>, { to: 'complained' }>
  | (Extract<ReportEffect, { to: 'complained' }> & { standing: ComplaintCounting });

/** Whether a complaint counts towards the automatic pause; shown in the log and in events. */
function standingOf(reporter: Reporter | undefined): ComplaintCounting {
  if (reporter && 'domain' in reporter) return { counted: true, reporter: reporter.domain, verifiedBy: reporter.by };
  return { counted: false, notCountedBecause: reporter?.why ?? 'the report could not be verified' };
}

/** The log's fields for a report. */
function logFieldsOf(change: ReportedChange): Pick<store.ReportedOutcome, 'error' | 'bounceType' | 'detail'> {
  if (change.to === 'complained') {
    const { complaint, standing } = change;
    const detail = { source: 'arf', ...complaintPayload(complaint, standing) };
    const doubt = standing.counted ? '' : `; not counted: ${standing.notCountedBecause}`;
    return { error: `the recipient complained (${complaint.feedbackType})${doubt}`, bounceType: null, detail };
  }
  const { said } = change;
  const { code, enhanced, remoteMta: mx, diagnostic: response } = said;
  const detail = { source: 'dsn', class: said.class, code, enhanced, mx, response, reported: said.address };
  if (change.to === 'delivered') return { error: null, bounceType: null, detail: { ...detail, class: undefined } };
  return {
    error: `${mx ? `${mx}: ` : ''}${response}`.slice(0, 1_000).toWellFormed() || 'it came back',
    bounceType: said.bounceType,
    detail,
  };
}

/** In order of occurrence. */
function reportEventsOf(
  { org_id: org, message_id: messageId, address: recipient }: store.ReportedRow,
  change: ReportedChange,
  isFirst: boolean,
  suppression: Awaited<ReturnType<typeof store.writeReportedOutcome>>,
): WebhookEvent[] {
  const about = { org, messageId };
  const data = {
    ...(change.to === 'bounced' ? { bounce: bouncePayload(change.said) } : {}),
    ...(change.to === 'complained' ? { complaint: complaintPayload(change.complaint, change.standing) } : {}),
  };
  return [
    ...(isFirst ? [{ ...about, type: 'email.sent' as const, data: {} }] : []),
    { ...about, type: `email.${change.to}` as const, data: { recipient, ...data } },
    ...(suppression ? [{ org, type: 'suppression.created' as const, data: { suppression: suppressionView(suppression) } }] : []),
  ];
}
