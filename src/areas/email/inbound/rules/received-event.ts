import type { Envelope } from './receiving.ts';

/** The parsed message from clients/reader. */
export interface ReportedMail {
  headers: { messageId?: string; inReplyTo?: string; references?: string; date?: string };
  text: string | null;
  html: string | null;
  attachments: readonly { filename: string | null; contentType: string; sizeBytes: number; contentId?: string }[];
  isTruncated: boolean;
  authentication: unknown;
  problem: string | null;
}

/** Standard Webhooks recommends less than 20 kB; the whole message is at `contentUrl`. */
export const maxPayloadBytes = 20_000;
/** Limits for the lists within the payload. */
const maxListBytes = { rcptTo: 2_500, attachments: 3_000 };

const jsonBytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** The longest prefix of the list that fits. */
function truncateList<T>(list: readonly T[], bytes: number): T[] {
  let left = bytes;
  const end = list.findIndex((each) => {
    left -= jsonBytes(each) + 1;
    return left < 0;
  });
  return end < 0 ? [...list] : list.slice(0, end);
}

/** The longest prefix of the text whose JSON fits into `bytes`. */
function truncateText(text: string, bytes: number): string {
  if (jsonBytes(text) <= bytes) return text;
  let [fits, tooLong] = [0, text.length];
  while (tooLong - fits > 1) {
    const middle = (fits + tooLong) >> 1;
    if (jsonBytes(text.slice(0, middle).toWellFormed()) <= bytes) fits = middle;
    else tooLong = middle;
  }
  return text.slice(0, fits).toWellFormed();
}

/**
 * The fields of `email.received` beyond the common message fields, which already take `taken` bytes. Text has priority over HTML, which is included
 * whole or not at all. `truncated` is true if anything was left out.
 */
export function receivedData(
  mail: ReportedMail,
  { envelope, routeId, contentUrl }: { envelope: Envelope; routeId: string; contentUrl: string },
  taken: number,
): Record<string, unknown> {
  const rcptTo = truncateList(envelope.rcptTo, maxListBytes.rcptTo);
  const attachments = truncateList(mail.attachments, maxListBytes.attachments);
  const data: Record<string, unknown> = {
    routeId,
    envelope: { ...envelope, rcptTo },
    authentication: mail.authentication,
    headers: mail.headers,
    attachments,
    contentUrl,
    truncated: mail.isTruncated || rcptTo.length < envelope.rcptTo.length || attachments.length < mail.attachments.length,
    ...(mail.problem === null ? {} : { problem: mail.problem }),
  };
  const left = () => maxPayloadBytes - taken - jsonBytes(data) - 100;
  if (mail.text !== null) {
    const text = truncateText(mail.text, Math.max(2, left()));
    data.text = text;
    if (text.length < mail.text.length) data.truncated = true;
  }
  if (mail.html !== null) {
    if (jsonBytes(mail.html) <= left()) data.html = mail.html;
    else data.truncated = true;
  }
  return data;
}
