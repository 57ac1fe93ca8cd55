import { type BounceType, classify, type Judgement, type ReplyClass } from '../bounces/classify.ts';
import { isAutomatic } from './automatic.ts';
import { isTelling, readCodes } from './codes.ts';
import { type Complaint, readComplaint } from './complaint.ts';
import { decodeWords } from './decode.ts';
import { fieldOf } from './fields.ts';
import { type Mail, readMail, textOf } from './mime.ts';
import { cutOriginal, readSections, type Section } from './notice.ts';
import { addressIn, readStatus, type StatusGroup } from './status.ts';

/** What a report says of one recipient. */
export interface Reported {
  /** As the report names it; absent where it names nobody. */
  address?: string;
  original?: string;
  action: 'failed' | 'delayed' | 'delivered' | 'relayed';
  bounceType: BounceType;
  class: ReplyClass;
  code?: number;
  enhanced?: string;
  diagnostic: string;
  remoteMta?: string;
}

/** A mail that came to a return path, read. Plain data. */
export interface Report {
  /** `other`: neither a report nor an automatic reply, as far as anybody can tell. */
  kind: 'delivery' | 'complaint' | 'automatic' | 'other';
  recipients: Reported[];
  complaint?: Complaint;
}

const mostDiagnostic = 1_000;

/** Never throws, whatever the bytes are; reads a bounded part of them in bounded steps. */
export function readReport(raw: Uint8Array): Report {
  const mail = readMail(raw);
  const complaint = readComplaint(mail);
  if (complaint) return { kind: 'complaint', recipients: [], complaint };
  const statuses = mail.parts.filter(({ type }) => /^message\/(?:global-)?delivery-status$/.test(type));
  const notice = readNotice(mail);
  const groups = statuses.flatMap((part) => readStatus(textOf(part)));
  const found = groups.length > 0 || !/^(?:final|original)-recipient:/im.test(notice) ? groups : readStatus(notice);
  if (found.length === 0 && isAutomatic(mail.fields, notice)) return { kind: 'automatic', recipients: [] };
  const sender = addressIn(fieldOf(mail.fields, 'to'))?.toLowerCase();
  const { common, sections } = readSections(notice, sender);
  const subject = decodeWords(fieldOf(mail.fields, 'subject') ?? '');
  const recipients = found.length
    ? found.map((group) => judgeGroup(group, found.length === 1 ? notice : (sectionOf(sections, group) ?? common), common))
    : (sections.length ? sections : [{ address: '', text: '' }]).map((section) => judgeSection(section, common, subject));
  return { kind: isReport(mail, found.length > 0, recipients) ? 'delivery' : 'other', recipients };
}

/** What is written for people, without the message that is given back. */
function readNotice({ parts }: Mail): string {
  const plain = parts.filter(({ type }) => type === 'text/plain').map(textOf);
  const written = plain.some((text) => text.trim()) ? plain : parts.filter(({ type }) => type === 'text/html').map(textOf);
  return cutOriginal(written.slice(0, 5).join('\n').slice(0, 65_536));
}

const sectionOf = (sections: readonly Section[], { address, original }: StatusGroup): string | undefined =>
  sections.find(
    (section) => section.address.toLowerCase() === address?.toLowerCase() || section.address.toLowerCase() === original?.toLowerCase(),
  )?.text;

/** What the machine says counts first; the words for people where it says nothing that can be decided. */
function judgeGroup(group: StatusGroup, notice: string, common: string): Reported {
  const spoken = readCodes(group.diagnostic);
  const around = readCodes(notice);
  const code = spoken.code ?? around.code;
  const told = [spoken.enhanced, group.status, around.enhanced];
  const enhanced = told.find(isTelling) ?? told.find((one) => one !== undefined);
  const stage = spoken.stage || around.stage;
  const first = classify({ code, enhanced, text: group.diagnostic, stage });
  const asWell = classify({ code, enhanced, text: `${group.diagnostic}\n${notice}`, stage });
  const best = first.class === 'Uncategorized' || group.diagnostic.length < 20 ? asWell : first;
  const judged = best.bounceType === 'hard' ? (milderOf(common) ?? best) : best;
  const { address, original, remoteMta } = group;
  return {
    ...(address === undefined ? {} : { address }),
    ...(original === undefined ? {} : { original }),
    action: actionOf(group.action),
    bounceType: judged.bounceType,
    class: judged.class,
    ...(code === undefined ? {} : { code }),
    ...(enhanced === undefined ? {} : { enhanced }),
    diagnostic: (group.diagnostic || notice).trim().slice(0, mostDiagnostic),
    ...(remoteMta === undefined ? {} : { remoteMta }),
  };
}

/** Where the words for people say that the mailbox is there, and full or disabled, whatever the code says of it is too hard. */
function milderOf(common: string): Judgement | undefined {
  const judged = classify({ text: common, stage: '' });
  return judged.class === 'QuotaIssues' || judged.class === 'InactiveMailbox' ? judged : undefined;
}

const actionOf = (action: string | undefined): Reported['action'] => {
  if (action === 'delayed') return 'delayed';
  if (action === 'relayed' || action === 'expanded') return 'relayed';
  return action === 'delivered' ? 'delivered' : 'failed';
};

function judgeSection({ address, text }: Section, common: string, subject: string): Reported {
  const own = readCodes(text);
  const around = readCodes(common);
  const code = own.code ?? around.code;
  const told = [own.enhanced, around.enhanced];
  const enhanced = told.find(isTelling) ?? told.find((one) => one !== undefined);
  const stage = own.stage || around.stage;
  const first = classify({ code, enhanced, text, stage });
  const judged = first.class === 'Uncategorized' ? classify({ code, enhanced, text: `${text}\n${common}\n${subject}`, stage }) : first;
  return {
    ...(address ? { address } : {}),
    action: 'failed',
    bounceType: judged.bounceType,
    class: judged.class,
    ...(code === undefined ? {} : { code }),
    ...(enhanced === undefined ? {} : { enhanced }),
    diagnostic: (text || common).trim().slice(0, mostDiagnostic),
  };
}

/** Whether it was written by a mail server about mail that did not arrive. */
function isReport({ fields, parts }: Mail, hasStatus: boolean, recipients: readonly Reported[]): boolean {
  if (hasStatus || /^multipart\/report/i.test(fieldOf(fields, 'content-type') ?? '')) return true;
  const from = `${fieldOf(fields, 'from') ?? ''} ${fieldOf(fields, 'return-path') ?? ''} ${fieldOf(fields, 'subject') ?? ''}`;
  if (/mailer-daemon|postmaster|mail (?:delivery|daemon|system|administrator)|undeliver|delivery|returned mail|failure|<>/i.test(from))
    return true;
  return (
    fieldOf(fields, 'x-failed-recipients') !== undefined ||
    parts.some(({ type }) => type === 'message/rfc822') ||
    recipients.some(({ class: of }) => of !== 'Uncategorized')
  );
}
