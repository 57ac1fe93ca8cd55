import { createHash, type Hash } from 'node:crypto';
import { tooMany } from '../../../identity/attempts.ts';
import type { Principal } from '../../../identity/principal.ts';
import type { RateLimit } from '../../../identity/rate-limit.ts';
import type { App } from '../../../kernel/app.ts';
import { invalid } from '../../../kernel/errors.ts';
import { now } from '../../../kernel/time.ts';
import { yieldToLoop } from '../../../kernel/yielding.ts';
import { showMailbox } from '../rules/address.ts';
import { limits } from '../rules/limits.ts';
import { checkDraft, composeMessage, type Draft, type EmailSend } from './compose/index.ts';
import { isIdempotencyKey } from './read-message.ts';
import { requireSendingDomain, type SendingDomains } from './sender-authorization.ts';
import type { Intake, Submission } from './submission.ts';

/** What the doors for programs lean on, whichever protocol they speak. */
export interface SubmitServices {
  intake: Intake;
  domains: SendingDomains;
  /** Requests of an organization. */
  sends: RateLimit;
  /** Told of every send key that is used, for `lastUsedAt`. */
  used(keyId: string): void;
}

/** Requests a second by an organization, and how many at once after a rest. */
export const sendRate = { perSecond: 10, burst: 50 } as const;

export function requireRate({ sends }: SubmitServices, { org }: Principal): void {
  const { allowed, resetSeconds } = sends.take(org.id);
  if (!allowed) throw tooMany(`more than ${sendRate.perSecond} requests a second to send mail by this organization`, resetSeconds);
}

export interface SubmitContext {
  app: App;
  principal: Principal;
  idempotencyKey: string | undefined;
  /** What one of them is called in sentences. */
  nameOf?: (index: number) => string;
}

/** Takes messages from a program: composed, judged and stored, all of them or none. */
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
    await yieldToLoop(); // a hundred small ones are many milliseconds too
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

/** When each is to leave; undefined: now, as is what lies in the past. */
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

/** The same for the same messages, in whatever order their fields come. Megabytes are hashed in slices. */
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
      hash.update(Buffer.from(value.slice(at, at + sliceChars), 'utf16le')); // half a character is as good as a whole one here
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
