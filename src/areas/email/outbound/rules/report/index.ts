// Reads mail that arrived at a return path. Pure functions; they run in a reader thread, and every loop and pattern is bounded.
//
//   mime.ts, decode.ts, fields.ts   bytes -> parts, text and header fields
//   complaint.ts                    RFC 5965 feedback reports
//   status.ts, notification.ts      machine-readable recipients: RFC 3464 groups, Amazon's JSON
//   notice.ts, reason.ts, codes.ts  human-readable text: sections per recipient, the reason, codes and the refused command
//   recipient-report.ts             combines both and classifies them with ../bounces
//   automatic.ts                    out-of-office replies
//   reporter.ts                     whether the sender of a complaint is verified
//   effect.ts                       the effect of a report on the recipient of its return path
//
// Order: a complaint is recognized first, then delivery groups, then automatic replies, then plain notices of mail servers. Anything else is
// `other` and has no effect. Nothing is stored here: engine/feedback applies the effect in one transaction, so a crash leaves it undone or done.

import { isAutomatic } from './automatic.ts';
import { type Complaint, readComplaint } from './complaint.ts';
import { decodeWords } from './decode.ts';
import { fieldOf } from './fields.ts';
import { type Mail, readMail, textOf } from './mime.ts';
import { cutFooter, cutOriginal, isDelayed, readSections, type Section } from './notice.ts';
import { readNotification, readNotifiedComplaint } from './notification.ts';
import { type RecipientReport, reportFromGroup, reportFromSection } from './recipient-report.ts';
import { addressIn, readStatus, type StatusGroup } from './status.ts';

export type { RecipientReport } from './recipient-report.ts';

/** A parsed report. Plain data, so it can cross threads. */
export interface Report {
  /** `other`: neither a report nor an automatic reply. */
  kind: 'delivery' | 'complaint' | 'automatic' | 'other';
  recipients: RecipientReport[];
  complaint?: Complaint;
}

/** Parses any bytes without throwing, in bounded time. */
export function readReport(raw: Uint8Array): Report {
  const mail = openForwarded(readMail(raw));
  const complaint = readComplaint(mail);
  if (complaint) return { kind: 'complaint', recipients: [], complaint };
  const notice = readNotice(mail);
  const notified = readNotifiedComplaint(notice);
  if (notified) return { kind: 'complaint', recipients: [], complaint: notified };
  const groups = readGroups(mail, notice);
  if (groups.length === 0 && isAutomatic(mail.fields, notice)) return { kind: 'automatic', recipients: [] };
  const recipients = readRecipients(mail, notice, groups);
  return { kind: groups.length > 0 || isWrittenByServer(mail, recipients) ? 'delivery' : 'other', recipients };
}

/** A report that a mail server forwards without text of its own is read as if it had arrived directly. */
function openForwarded(mail: Mail): Mail {
  const forwarded = mail.parts.find(({ type }) => type === 'message/rfc822');
  if (!forwarded || !daemon.test(decodeWords(fieldOf(mail.fields, 'from') ?? ''))) return mail;
  if (mail.parts.some((part) => isStatus.test(part.type) || (part.type.startsWith('text/') && textOf(part).trim() !== ''))) return mail;
  const inner = readMail(Buffer.from(forwarded.raw, 'latin1'));
  return inner.parts.some(({ type }) => isStatus.test(type)) ? inner : mail;
}

const isStatus = /^message\/(?:global-)?delivery-status$/;

/** Some servers write the fields of RFC 3464 into the text part. */
function readGroups({ parts }: Mail, notice: string): StatusGroup[] {
  const groups = parts.filter(({ type }) => isStatus.test(type)).flatMap((part) => readStatus(textOf(part)));
  if (groups.length > 0) return groups;
  return /^(?:final|original)-recipient:/im.test(notice) ? readStatus(notice) : readNotification(notice);
}

function readRecipients({ fields }: Mail, notice: string, groups: readonly StatusGroup[]): RecipientReport[] {
  const sender = addressIn(fieldOf(fields, 'to'))?.toLowerCase();
  const subject = decodeWords(fieldOf(fields, 'subject') ?? '');
  const { common, sections } = readSections(notice, sender);
  if (groups.length > 0)
    return groups.map((group) => reportFromGroup(group, groups.length === 1 ? notice : (sectionOf(sections, group) ?? common), common));
  const isDelay = isDelayed(notice, subject);
  return (sections.length ? sections : [{ address: '', text: '' }]).map((section) => reportFromSection(section, common, subject, isDelay));
}

/** The human-readable text without the returned message. */
function readNotice({ parts }: Mail): string {
  const own = parts.filter(({ fields }, n) => n === 0 || (fieldOf(fields, 'received') ?? fieldOf(fields, 'return-path')) === undefined);
  const plain = own.filter(({ type }) => type === 'text/plain').map(textOf);
  const written = plain.some((text) => text.trim()) ? plain : own.filter(({ type }) => type === 'text/html').map(textOf);
  return cutFooter(cutOriginal(written.slice(0, 5).join('\n').slice(0, 65_536)));
}

const sectionOf = (sections: readonly Section[], { address, original }: StatusGroup): string | undefined =>
  sections.find(
    (section) => section.address.toLowerCase() === address?.toLowerCase() || section.address.toLowerCase() === original?.toLowerCase(),
  )?.text;

/** Whether a mail server wrote the mail. A person's reply may contain any of the same words. */
function isWrittenByServer({ fields, parts }: Mail, recipients: readonly RecipientReport[]): boolean {
  if (/^multipart\/report/i.test(fieldOf(fields, 'content-type') ?? '') || fieldOf(fields, 'x-failed-recipients') !== undefined)
    return true;
  const subject = decodeWords(fieldOf(fields, 'subject') ?? '');
  // An empty return path means a program wrote it; with a code in it, a mail server.
  const isCoded = recipients.some(({ code, enhanced }) => code !== undefined || enhanced !== undefined);
  if (isCoded && fieldOf(fields, 'return-path')?.trim() === '<>') return true;
  // A quoted server reply with codes, above the returned message.
  const isQuoted = recipients.some(({ code, enhanced }) => code !== undefined && enhanced !== undefined);
  if (isQuoted && parts.some(({ type }) => /^(?:message\/rfc822|(?:text|message)\/rfc822-headers)/.test(type))) return true;
  return daemon.test(decodeWords(fieldOf(fields, 'from') ?? '')) || (!/^(?:re|aw|sv|antw|odp): /i.test(subject) && failed.test(subject));
}

const daemon =
  /mailer[ _-]?daemon|\bmdaemon|post[ _-]?master|mail[- ]?(?:deliver|daemon|system|admin|router|server|gateway)|smtp[ -]?(?:gateway|server)|<>|delivery (?:subsystem|system)/i;
const failed =
  /undeliver|(?:delivery|mail|message)[^:]{0,30}(?:fail|failure|status|notification|error|problem|impossible|report)|(?:error|failed|failure)[^:]{0,20} (?:mail|message|delivery)|\[bounce\]|returned (?:mail|to sender)|failure notice|non-?delivery|could not (?:be )?deliver|not delivered|nondeliverable|delivery has failed|mail system error|unzustellbar|non remis|no se (?:puede|pudo|ha podido) entregar|n[ãa]o foi poss[íi]vel entregar|n[ãa]o entregue|mancat[ao] (?:recapito|consegna)|onbestelbaar|доставк|не доставлен|未送達|配信(?:でき|不能|エラー)|退信/i;
