import { email } from '../../../../../../contract/email.ts';
import { invalid, type Refusal } from '../../../../../kernel/errors.ts';
import { checker } from '../../../../../kernel/http/validate.ts';
import type { EmailSend } from '../../engine/compose/index.ts';

// Translates Resend's request bodies to our contract. Unknown fields are ignored, as Resend does.

const check = checker(email.sendEmail.body, 'body');

/** One message, validated against our contract. */
export function readResendBody(body: unknown): EmailSend {
  if (!isObject(body)) return invalid('the body must be an object with from, to, subject, and html or text');
  const given = {
    from: body.from,
    to: asList(body.to),
    cc: asList(body.cc),
    bcc: asList(body.bcc),
    replyTo: asList(body.reply_to),
    subject: body.subject,
    html: body.html ?? undefined,
    text: body.text ?? undefined,
    headers: body.headers ?? undefined,
    attachments: Array.isArray(body.attachments) ? body.attachments.map(readAttachment) : (body.attachments ?? undefined),
    scheduledAt: body.scheduled_at ?? undefined,
    tags: readTags(body.tags),
  };
  return check(withoutAbsent(given)) as EmailSend;
}

const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null && !Array.isArray(value);
const withoutAbsent = (given: Record<string, unknown>) =>
  Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined));

/** Resend allows a single address instead of a list. */
const asList = (value: unknown): unknown => {
  if (value === undefined || value === null) return undefined;
  return Array.isArray(value) ? value : [value];
};

function readAttachment(attachment: unknown, i: number): unknown {
  if (!isObject(attachment)) return attachment;
  if (attachment.path !== undefined && attachment.path !== null)
    invalid(`attachments.${i}.path is not supported: nothing is fetched from elsewhere; send the file as content, in base64`);
  return withoutAbsent({
    filename: attachment.filename ?? 'attachment',
    content: asBase64(attachment.content),
    contentType: attachment.content_type ?? undefined,
    contentId: attachment.content_id ?? attachment.inline_content_id ?? undefined,
  });
}

/** Some clients send a Buffer as JSON.stringify writes it. */
const asBase64 = (content: unknown): unknown =>
  isObject(content) && content.type === 'Buffer' && Array.isArray(content.data)
    ? Buffer.from(content.data as number[]).toString('base64')
    : content;

function readTags(tags: unknown): unknown {
  if (!Array.isArray(tags)) return tags ?? undefined;
  return Object.fromEntries(
    tags.map((tag, i) => (isObject(tag) ? [String(tag.name), tag.value] : invalid(`tags.${i} must have a name and a value`))),
  );
}

/** Resend's error name and status for a refusal. */
export function nameRefusal({ status, code }: Refusal): { statusCode: number; name: string } {
  const known = names[code];
  if (known) return known;
  if (status === 400) return { statusCode: 422, name: 'validation_error' };
  if (status === 404) return { statusCode: 404, name: 'not_found' };
  if (status === 429) return { statusCode: 429, name: 'rate_limit_exceeded' };
  return { statusCode: status, name: status >= 500 ? 'internal_server_error' : 'validation_error' };
}

const names: Record<string, { statusCode: number; name: string }> = {
  missing_key: { statusCode: 401, name: 'missing_api_key' },
  unauthenticated: { statusCode: 403, name: 'invalid_api_key' },
  idempotency_mismatch: { statusCode: 409, name: 'invalid_idempotent_request' },
  idempotency_running: { statusCode: 409, name: 'concurrent_idempotent_requests' },
  invalid_idempotency_key: { statusCode: 400, name: 'invalid_idempotency_key' },
  daily_quota: { statusCode: 429, name: 'daily_quota_exceeded' },
  rate_limited: { statusCode: 429, name: 'rate_limit_exceeded' },
  method_not_allowed: { statusCode: 405, name: 'method_not_allowed' },
};
