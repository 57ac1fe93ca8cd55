import type { Complaint } from './complaint.ts';
import { cleanText } from './recipient-report.ts';
import { addressIn, type StatusGroup } from './status.ts';

/** JSON notifications of Amazon's services inside mail: wrapped at any position, and quoted once or twice. */
const isNotification = /"notificationType"\s{0,5}:\s{0,5}"(Bounce|Complaint)"/;
const field = (name: string) => new RegExp(`"${name}"\\s{0,5}:\\s{0,5}"((?:[^"\\\\]|\\\\.){0,1000})"`, 'g');

/** Long lines are wrapped as `!`, line end, space. */
const flatten = (text: string): string => text.replaceAll('\\"', '"').replace(/!\n /g, '').replace(/\n ?/g, '');

export function readNotification(text: string): StatusGroup[] {
  const flat = flatten(text);
  if (isNotification.exec(flat)?.[1] !== 'Bounce') return [];
  const from = flat.indexOf('"bouncedRecipients"');
  const bounced = flat.slice(Math.max(0, from), Math.max(0, from) + 20_000);
  const each = (bounced.match(/\{[^{}]{0,3000}\}/g) ?? []).filter((one) => one.includes('"emailAddress"')).slice(0, 50);
  const kind = kindOf(flat);
  return (each.length > 0 ? each : [bounced]).flatMap((one) => readBounced(one, kind));
}

function readBounced(text: string, kind: string): StatusGroup[] {
  const fieldValue = (name: string) => field(name).exec(text)?.[1];
  const address = fieldValue('emailAddress');
  if (address === undefined) return [];
  const diagnostic = (fieldValue('diagnosticCode') ?? '').replace(/^smtp;\s*/, '');
  return [{ address, action: fieldValue('action') ?? 'failed', ...statusIn(fieldValue('status')), diagnostic: `${diagnostic}${kind}` }];
}

/** The subtype of a transient bounce: `MailboxFull` outweighs the code. */
function kindOf(flat: string): string {
  const kind = field('bounceSubType').exec(flat)?.[1] ?? 'General';
  return field('bounceType').exec(flat)?.[1] === 'Transient' && kind !== 'General' ? ` (${kind})` : '';
}

function statusIn(written = ''): { status?: string } {
  const status = /^[245]\.\d{1,3}\.\d{1,3}$/.exec(written)?.[0];
  return status === undefined ? {} : { status };
}

export function readNotifiedComplaint(text: string): Complaint | undefined {
  const flat = flatten(text);
  if (isNotification.exec(flat)?.[1] !== 'Complaint') return undefined;
  const feedbackType = field('complaintFeedbackType').exec(flat)?.[1] ?? 'abuse';
  const address = addressIn(field('emailAddress').exec(flat)?.[1]);
  return { feedbackType: cleanText(feedbackType, 40).toLowerCase(), addresses: address === undefined ? [] : [cleanText(address, 320)] };
}
