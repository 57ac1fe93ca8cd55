import type { Envelope } from './receiving.ts';

/** What was read of a message; clients/reader makes it. */
export interface ToldMail {
  headers: { messageId?: string; inReplyTo?: string; references?: string; date?: string };
  text: string | null;
  html: string | null;
  attachments: readonly { filename: string | null; contentType: string; sizeBytes: number; contentId?: string }[];
  isTruncated: boolean;
  authentication: unknown;
  problem: string | null;
}

/** Standard Webhooks asks for less than 20 kB; the rest is at `contentUrl`. */
export const mostPayloadBytes = 20_000;
/** Of it, for what is no text. */
const most = { rcptTo: 2_500, attachments: 3_000 };

const jsonBytes = (value: unknown) => Buffer.byteLength(JSON.stringify(value));

/** As many as fit, from the first on. */
function cutList<T>(list: readonly T[], bytes: number): T[] {
  let left = bytes;
  const end = list.findIndex((each) => {
    left -= jsonBytes(each) + 1;
    return left < 0;
  });
  return end < 0 ? [...list] : list.slice(0, end);
}

/** The beginning of a text whose JSON has at most so many bytes. */
function cutText(text: string, bytes: number): string {
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
 * What `email.received` says beside the message as the log shows it, whose bytes are `taken`. Text comes before HTML, which is told whole
 * or not at all; `truncated` says that there is more than is told.
 */
export function receivedData(
  mail: ToldMail,
  { envelope, routeId, contentUrl }: { envelope: Envelope; routeId: string; contentUrl: string },
  taken: number,
): Record<string, unknown> {
  const rcptTo = cutList(envelope.rcptTo, most.rcptTo);
  const attachments = cutList(mail.attachments, most.attachments);
  const told: Record<string, unknown> = {
    routeId,
    envelope: { ...envelope, rcptTo },
    authentication: mail.authentication,
    headers: mail.headers,
    attachments,
    contentUrl,
    truncated: mail.isTruncated || rcptTo.length < envelope.rcptTo.length || attachments.length < mail.attachments.length,
    ...(mail.problem === null ? {} : { problem: mail.problem }),
  };
  const left = () => mostPayloadBytes - taken - jsonBytes(told) - 100;
  if (mail.text !== null) {
    const text = cutText(mail.text, Math.max(2, left()));
    told.text = text;
    if (text.length < mail.text.length) told.truncated = true;
  }
  if (mail.html !== null) {
    if (jsonBytes(mail.html) <= left()) told.html = mail.html;
    else told.truncated = true;
  }
  return told;
}
