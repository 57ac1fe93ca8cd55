import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { type Followed, followReport } from '../../rules/report/follow.ts';
import type { Report } from '../../rules/report/index.ts';
import type { Reporter } from '../../rules/report/reporter.ts';
import { isSimulated } from '../../rules/simulator.ts';
import * as store from '../../store/feedback.ts';
import { countReported } from '../../store/posture.ts';
import { bouncePayload, type ComplaintStanding, complaintPayload } from '../../views/feedback.ts';
import { suppressionView } from '../../views/suppression.ts';
import { pauseIfOverLimits } from '../sending-pause.ts';
import type { WebhookEvent } from '../webhooks/emit-events.ts';
import { emitEvents } from '../webhooks/emit-events.ts';

/** A mail that came to the return path of a recipient, read. */
export interface ArrivedReport {
  org: string;
  messageId: string;
  /** The recipient that the return path names, whatever the report says. */
  recipientId: number;
  parsed: Report;
  /** Of a complaint: who sent it. Undefined: it was not verified. */
  reporter?: Reporter | undefined;
}

/** What followed from a report: what became of its recipient, or nothing. */
export type ReportEffect = 'bounced' | 'complained' | 'delivered' | 'nothing';

/**
 * Applies a report to the recipient whose return path it came to. Safe to run twice: what it says is found to be so already. Killed before its
 * commit nothing of it has happened; after it, everything: state, events, suppression, what endpoints hear, and a pause.
 */
export const takeReport = (app: App, report: ArrivedReport): Promise<ReportEffect> => app.db.write((tx) => applyReport(tx, report));

export async function applyReport(tx: Tx, { org, messageId, recipientId, parsed, reporter }: ArrivedReport): Promise<ReportEffect> {
  const known = await store.lockReported(tx, org, messageId, recipientId);
  if (!known) return 'nothing';
  const { folded, state, attempts } = known;
  const decided = followReport({ address: folded, others: new Set(known.others), state, isTried: attempts > 0 }, parsed);
  if (!decided) return 'nothing';
  const change: ReportedChange = decided.to === 'complained' ? { ...decided, standing: standingOf(reporter) } : decided;

  // Neither the simulator's mail nor the product's own is held against anybody.
  const isJudged = known.door !== 'relay' && !isSimulated(folded);
  const isHard = change.to === 'bounced' && change.said.bounceType === 'hard';
  const isComplaint = change.to === 'complained';
  // An unauthenticated complaint ends mail to this recipient, and counts for nothing else: the organization is not judged by it.
  const isCounted = isHard || (change.to === 'complained' && change.standing.counted);
  const isFirst = !known.is_sent && known.door !== 'relay';
  const suppression = await store.writeReportedFate(tx, {
    ...{ recipientId, messageId, org, address: known.address, state: change.to, isFirst },
    ...logFieldsOf(change),
    suppress: isJudged && (isHard || isComplaint) ? { folded, reason: isHard ? 'bounce' : 'complaint' } : null,
  });
  if (known.door !== 'relay') await emitEvents(tx, reportEventsOf(known, change, isFirst, suppression));
  if (isJudged && (isCounted || !known.is_done)) {
    const complaints = isComplaint && isCounted ? 1 : 0;
    await countReported(tx, org, { recipients: known.is_done ? 0 : 1, hard: isHard ? 1 : 0, complaints, since: known.since });
    if (isCounted) await pauseIfOverLimits(tx, [org]);
  }
  return change.to;
}

type ReportedChange =
  | Exclude<NonNullable<Followed>, { to: 'complained' }>
  | (Extract<Followed, { to: 'complained' }> & { standing: ComplaintStanding });

/** What a complaint is worth to the pause of sending, for the log and for endpoints. */
function standingOf(reporter: Reporter | undefined): ComplaintStanding {
  if (reporter && 'domain' in reporter) return { counted: true, reporter: reporter.domain, verifiedBy: reporter.by };
  return { counted: false, notCountedBecause: reporter?.why ?? 'the report could not be verified' };
}

/** What the log keeps of it. */
function logFieldsOf(change: ReportedChange): Pick<store.ReportedFate, 'error' | 'bounceType' | 'detail'> {
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

/** In the order in which it happened. */
function reportEventsOf(
  { org_id: org, message_id: messageId, address: recipient }: store.ReportedRow,
  change: ReportedChange,
  isFirst: boolean,
  suppression: Awaited<ReturnType<typeof store.writeReportedFate>>,
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
