import type { Complaint } from './complaint.ts';
import { cleanText } from './judge.ts';
import { addressIn, type StatusGroup } from './status.ts';

/** A notice in JSON, as Amazon's services write it into mail: broken into lines anywhere, and quoted once or twice. */
const isNotification = /"notificationType"\s{0,5}:\s{0,5}"(Bounce|Complaint)"/;
const field = (name: string) => new RegExp(`"${name}"\\s{0,5}:\\s{0,5}"((?:[^"\\\\]|\\\\.){0,1000})"`, 'g');

const flatten = (text: string): string => text.replaceAll('\\"', '"').replace(/\n ?/g, '');

export function readNotification(text: string): StatusGroup[] {
  const flat = flatten(text);
  if (isNotification.exec(flat)?.[1] !== 'Bounce') return [];
  const from = flat.indexOf('"bouncedRecipients"');
  const bounced = flat.slice(Math.max(0, from), Math.max(0, from) + 20_000);
  const all = (name: string) => [...bounced.matchAll(field(name))].map((found) => found[1]!).slice(0, 50);
  const [addresses, actions, statuses, diagnostics] = [all('emailAddress'), all('action'), all('status'), all('diagnosticCode')];
  return addresses.map((address, n) => ({
    address,
    action: actions[n] ?? 'failed',
    ...statusIn(statuses[n]),
    diagnostic: (diagnostics[n] ?? '').replace(/^smtp;\s*/, ''),
  }));
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
