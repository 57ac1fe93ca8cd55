import type { Complaint } from './complaint.ts';
import type { RecipientReport, Report } from './index.ts';

/** The recipient whose return path received a report. */
export interface ReportSubject {
  /** In lower case, like all addresses here. */
  address: string;
  /** The other recipients of the same message. */
  others: ReadonlySet<string>;
  state: string;
  /** Before the first attempt the return path is secret, so an earlier report is forged. */
  wasAttempted: boolean;
}

export type ReportEffect =
  | { to: 'bounced'; said: RecipientReport }
  | { to: 'delivered'; said: RecipientReport }
  | { to: 'complained'; complaint: Complaint }
  | undefined;

/** States that a failure report can change; bounced, failed and complained are final. */
const mayBounce = new Set(['sending', 'queued', 'deferred', 'sent', 'delivered']);
/** Feedback types that are no complaint of the recipient. */
const isNoComplaint = new Set(['not-spam', 'auth-failure', 'dmarc', 'tls']);

/**
 * The effect of a report on the recipient of its return path. Statements about other recipients are ignored, because any holder of this return
 * path could have forged them. A repeated report changes nothing.
 */
export function effectOfReport(known: ReportSubject, report: Report): ReportEffect {
  if (!known.wasAttempted || known.state === 'complained') return undefined;
  if (report.kind === 'complaint') return effectOfComplaint(known, report.complaint);
  if (report.kind !== 'delivery') return undefined;
  const about = report.recipients.filter((said) => !isAboutAnother(known, said));
  const failed = about.filter(({ action }) => action === 'failed');
  if (failed.length > 0) {
    if (!mayBounce.has(known.state)) return undefined;
    return { to: 'bounced', said: softenForwarded(known, failed.find((said) => isNamed(known, said)) ?? failed[0]!) };
  }
  // A smart host accepted the mail earlier; this report confirms delivery.
  const arrived = about.find(({ action }) => action === 'delivered');
  return arrived && known.state === 'sent' ? { to: 'delivered', said: arrived } : undefined;
}

function effectOfComplaint(known: ReportSubject, complaint: Complaint | undefined): ReportEffect {
  if (!complaint || isNoComplaint.has(complaint.feedbackType)) return undefined;
  const named = complaint.addresses.map((address) => address.toLowerCase());
  const isOthers = named.length > 0 && !named.includes(known.address) && named.every((address) => known.others.has(address));
  return isOthers ? undefined : { to: 'complained', complaint };
}

const namesOf = ({ address, original }: RecipientReport) => [address, original].flatMap((one) => one?.toLowerCase() ?? []);

/** It names another recipient of the message, which has its own return path. */
const isAboutAnother = ({ address, others }: ReportSubject, said: RecipientReport): boolean => {
  const names = namesOf(said);
  return !names.includes(address) && names.some((name) => others.has(name));
};

const split = (address: string) => address.split('@') as [string, string?];

/** It names our recipient, perhaps in the form of the remote server, or no address at all. */
function isNamed({ address }: ReportSubject, said: RecipientReport): boolean {
  const names = namesOf(said);
  const [local, domain] = split(address);
  return names.length === 0 || names.some((name) => name === address || split(name)[0] === local || split(name)[1] === domain);
}

/** For forwarded mail the unknown address is the forwarding target, so our recipient must not be suppressed. */
const softenForwarded = (known: ReportSubject, said: RecipientReport): RecipientReport =>
  said.bounceType === 'hard' && !isNamed(known, said) ? { ...said, bounceType: 'undetermined' } : said;
