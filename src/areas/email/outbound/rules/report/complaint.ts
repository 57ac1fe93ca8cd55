import { addField, type Fields, fieldOf, readFields } from './fields.ts';
import { type Mail, textOf } from './mime.ts';
import { cleanText } from './recipient-report.ts';
import { addressIn } from './status.ts';

/** A feedback report (RFC 5965). Addresses may be missing or redacted. */
export interface Complaint {
  /** abuse, fraud, virus, not-spam, opt-out, auth-failure, …; `abuse` if absent. */
  feedbackType: string;
  userAgent?: string;
  source?: string;
  /** Recipients of the mail, as far as the report names them. */
  addresses: string[];
  /** Message-ID of the reported mail. */
  messageId?: string;
}

const maxAddresses = 50;

export function readComplaint({ parts, fields }: Mail): Complaint | undefined {
  const part = parts.find(({ type }) => type === 'message/feedback-report');
  if (!part && !/report-type="?feedback-report/i.test(fieldOf(fields, 'content-type') ?? '')) return undefined;
  const feedback: Fields = [];
  for (const line of (part ? textOf(part) : '').split('\n', 500)) if (line.trim()) addField(feedback, line);
  const original = readOriginal(parts);
  const addresses = feedback.flatMap(([name, value]) =>
    name === 'original-rcpt-to' || name === 'removal-recipient' ? (addressIn(value) ?? []) : [],
  );
  const to = addressIn(fieldOf(original, 'to'));
  const value = (name: string) => {
    const written = fieldOf(feedback, name);
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
      .slice(0, maxAddresses)
      .map((address) => cleanText(address, 320)),
    ...(messageId === undefined ? {} : { messageId: cleanText(messageId, 500) }),
  };
}

/** The header of the returned message. */
function readOriginal(parts: Mail['parts']): Fields {
  const part = parts.findLast(({ type }) => /^(?:message\/(?:rfc822|global)|(?:text|message)\/rfc822-headers?)/.test(type));
  return part ? readFields(part.raw.slice(0, 65_536).trimStart()).fields : [];
}
