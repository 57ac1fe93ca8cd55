import { addField, type Fields, fieldOf, readFields } from './fields.ts';
import { cleanText } from './judge.ts';
import { type Mail, textOf } from './mime.ts';
import { addressIn } from './status.ts';

/** What a feedback report (RFC 5965) says. Addresses may be left out or blackened. */
export interface Complaint {
  /** abuse, fraud, virus, not-spam, opt-out, auth-failure, …; `abuse` where it is not told. */
  feedbackType: string;
  userAgent?: string;
  source?: string;
  /** Whom the mail was for, as far as it is told. */
  addresses: string[];
  /** The Message-ID of what is complained about. */
  messageId?: string;
}

const mostAddresses = 50;

export function readComplaint({ parts, fields }: Mail): Complaint | undefined {
  const part = parts.find(({ type }) => type === 'message/feedback-report');
  if (!part && !/report-type="?feedback-report/i.test(fieldOf(fields, 'content-type') ?? '')) return undefined;
  const told: Fields = [];
  for (const line of (part ? textOf(part) : '').split('\n', 500)) if (line.trim()) addField(told, line);
  const original = readOriginal(parts);
  const addresses = told.flatMap(([name, value]) =>
    name === 'original-rcpt-to' || name === 'removal-recipient' ? (addressIn(value) ?? []) : [],
  );
  const to = addressIn(fieldOf(original, 'to'));
  const value = (name: string) => {
    const written = fieldOf(told, name);
    return written === undefined ? undefined : cleanText(written, 300);
  };
  const userAgent = value('user-agent');
  const source = value('reporting-mta') ?? value('source-ip');
  const messageId = fieldOf(original, 'message-id');
  return {
    feedbackType: /^[\w-]{1,40}/.exec(value('feedback-type') ?? '')?.[0].toLowerCase() ?? 'abuse',
    ...(userAgent === undefined ? {} : { userAgent }),
    ...(source === undefined ? {} : { source }),
    addresses: [...new Set(addresses.length || to === undefined ? addresses : [to])]
      .slice(0, mostAddresses)
      .map((address) => cleanText(address, 320)),
    ...(messageId === undefined ? {} : { messageId: cleanText(messageId, 500) }),
  };
}

/** The header of the message that is given back. */
function readOriginal(parts: Mail['parts']): Fields {
  const part = parts.findLast(({ type }) => /^(?:message\/(?:rfc822|global)|(?:text|message)\/rfc822-headers?)/.test(type));
  return part ? readFields(part.raw.slice(0, 65_536).trimStart()).fields : [];
}
