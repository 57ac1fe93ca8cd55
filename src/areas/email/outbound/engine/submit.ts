import { createHash, type Hash } from 'node:crypto';
import { tooMany } from '../../../../identity/attempts.ts';
import type { Principal } from '../../../../identity/principal.ts';
import type { RateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { invalid } from '../../../../kernel/errors.ts';
import { now } from '../../../../kernel/time.ts';
import { yieldToLoop } from '../../../../kernel/yielding.ts';
import { showMailbox } from '../../rules/address.ts';
import { limits } from '../../rules/limits.ts';
import { checkDraft, composeMessage, type Draft, type EmailSend } from './compose/index.ts';
import { isIdempotencyKey } from './read-message.ts';
import { requireSendingDomain, type SendingDomains } from './sender-authorization.ts';
import type { Intake, Submission } from './submission.ts';

/** What the HTTP APIs and SMTP submission share. */
export interface SubmitServices {
  intake: Intake;
  domains: SendingDomains;
  /** Request rate limit per organization. */
  sends: RateLimit;
  /** Called for every use of a send key, for `lastUsedAt`. */
  used(keyId: string): void;
}

/** Requests per second of one organization, and the burst. */
export const sendRate = { perSecond: 10, burst: 50 } as const;

export function requireRate({ sends }: SubmitServices, { org }: Principal): void {
  const { allowed, resetSeconds } = sends.take(org.id);
  if (!allowed) throw tooMany(`more than ${sendRate.perSecond} requests a second to send mail by this organization`, resetSeconds);
}

export interface SubmitContext {
  app: App;
  principal: Principal;
  idempotencyKey: string | undefined;
  /** The path of one message in error messages, such as `messages.3.`. */
  nameOf?: (index: number) => string;
}

/** Checks, composes and stores the messages of one HTTP request: all of them or none. */
export async function submitMessages({ intake, domains, used }: SubmitServices, bodies: readonly EmailSend[], context: SubmitContext) {
  const { app, principal, idempotencyKey, nameOf = () => '' } = context;
  used(principal.id);
  if (idempotencyKey !== undefined && !isIdempotencyKey(idempotencyKey))
    invalid(`the Idempotency-Key must be 1 to ${limits.idempotencyKey} visible ASCII characters`, { code: 'invalid_idempotency_key' });
  const drafts = bodies.map((body, i) => checkDraft(body, nameOf(i)));
  const scheduled = await readSchedules(app, bodies, nameOf);
  const submissions: Submission[] = [];
  for (const [i, draft] of drafts.entries()) {
    const { id: domainId } = await requireSendingDomain(domains, principal, draft.from.domain);
    const { content, messageId } = await composeMessage(draft, { where: nameOf(i), date: scheduled[i] });
    submissions.push({ ...describe(principal, draft, bodies[i]!.tags, scheduled[i]), domainId, messageId, content });
    await yieldToLoop(); // a batch of a hundred small messages takes many milliseconds too
  }
  const idempotency = idempotencyKey === undefined ? {} : { idempotency: { key: idempotencyKey, fingerprint: await fingerprint(bodies) } };
  return intake.accept({ submissions, ...idempotency });
}

const describe = (principal: Principal, draft: Draft, tags: Record<string, string> | undefined, scheduledAt: Date | undefined) => ({
  org: principal.org.id,
  door: 'http' as const,
  sendKeyId: principal.id,
  sender: showMailbox(draft.from),
  recipients: draft.to.map(showMailbox),
  copies: draft.cc.map(showMailbox),
  subject: draft.subject,
  envelope: draft.envelope,
  ...(tags ? { tags } : {}),
  ...(scheduledAt ? { scheduledAt: scheduledAt.toISOString() } : {}),
});

/** The send time of each message; undefined: now. A time in the past means now. */
async function readSchedules(app: App, bodies: readonly EmailSend[], nameOf: (index: number) => string): Promise<(Date | undefined)[]> {
  if (bodies.every(({ scheduledAt }) => scheduledAt === undefined)) return [];
  const today = new Date(await app.db.read(now)).getTime();
  return bodies.map(({ scheduledAt }, i) => {
    if (scheduledAt === undefined) return undefined;
    const at = new Date(scheduledAt);
    if (at.getTime() > today + limits.scheduleDays * 86_400_000)
      invalid(`${nameOf(i)}scheduledAt must be at most ${limits.scheduleDays} days ahead`);
    return at.getTime() > today ? at : undefined;
  });
}

/** Equal for equal messages, regardless of the order of their fields. Long strings are hashed in slices. */
export async function fingerprint(value: unknown): Promise<Buffer> {
  const hash = createHash('sha256');
  await addValue(hash, value);
  return hash.digest();
}

const sliceChars = 262_144;

async function addValue(hash: Hash, value: unknown): Promise<void> {
  if (typeof value === 'string') {
    hash.update(`"${value.length}:`);
    for (let at = 0; at < value.length; at += sliceChars) {
      if (at > 0) await yieldToLoop();
      hash.update(Buffer.from(value.slice(at, at + sliceChars), 'utf16le')); // half a surrogate pair hashes as well as a whole one
    }
    return;
  }
  if (value === null || typeof value !== 'object') return void hash.update(`${String(value)};`);
  const isList = Array.isArray(value);
  hash.update(isList ? '[' : '{');
  const entries = isList ? value.map((each, i) => [String(i), each] as const) : Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1));
  for (const [name, each] of entries) {
    if (each === undefined) continue;
    hash.update(`${name.length}:${name}=`);
    await addValue(hash, each);
  }
  hash.update(']');
}
