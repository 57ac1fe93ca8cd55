import { Refusal } from '../../../../kernel/errors.ts';
import { foldAddress } from '../../rules/envelope.ts';
import { storyOf } from '../../rules/simulator.ts';
import type { Taken } from '../submission.ts';
import type { Entry, Found } from './batch.ts';

export type Verdict =
  /** `isOurs`: its Idempotency-Key was taken by this batch, and is free again. */
  | { refusal: Refusal; isOurs: boolean }
  | { messages: Taken[]; replayed: true }
  | { messages: Taken[]; replayed: false; ids: string[]; suppressed: ReadonlySet<string> };

/** Who is taken, in the order in which they came: what one takes of the day's quota the next one does not have. */
export function judge(batch: Entry[], found: Found, defaultQuota: number): Verdict[] {
  const used = new Map<string, number>();
  let next = 0;
  return batch.map(({ handed: { submissions, idempotency } }) => {
    const ids = found.stamp.ids.slice(next, next + submissions.length);
    next += submissions.length;
    const { org } = submissions[0]!;
    const place = `${org} ${idempotency?.key}`;
    const isOurs = idempotency !== undefined && found.claimed.has(place);
    const revoked = found.judgeKey(submissions[0]!);
    if (revoked) return { refusal: revoked, isOurs };
    if (idempotency && !isOurs) return replay(found.made.get(place), idempotency.fingerprint);

    const recipients = submissions.reduce((sum, { envelope }) => sum + envelope.length, 0);
    const refusal = refusalOf(found, org, submissions, (used.get(org) ?? 0) + recipients, defaultQuota);
    if (refusal) return { refusal, isOurs };
    used.set(org, (used.get(org) ?? 0) + recipients);
    const addresses = submissions.flatMap(({ envelope }) => envelope.map(foldAddress));
    return {
      ids,
      messages: submissions.map(({ messageId }, i) => ({ id: ids[i]!, messageId })),
      replayed: false,
      suppressed: new Set(addresses.filter((address) => found.suppressed.has(`${org} ${address}`) || storyOf(address) === 'suppressed')),
    };
  });
}

function replay(made: { fingerprint: Buffer; message_ids: string[]; header_ids: string[] } | undefined, fingerprint: Buffer): Verdict {
  if (made?.fingerprint.equals(fingerprint))
    return { messages: made.message_ids.map((id, i) => ({ id, messageId: made.header_ids[i] ?? '' })), replayed: true };
  const sentence = 'this Idempotency-Key was used before with another message; use a new key';
  return { refusal: new Refusal(409, 'idempotency_mismatch', sentence), isOurs: false };
}

function refusalOf(found: Found, org: string, submissions: readonly { domainId: string }[], wanted: number, defaultQuota: number) {
  const account = found.accounts.get(org)!;
  const quota = account.daily_quota ?? defaultQuota;
  if (account.is_paused)
    return new Refusal(
      403,
      'sending_paused',
      `sending is paused: ${account.pause_reason ?? 'by the operator'}; whoever runs this server can lift it`,
    );
  if (submissions.some(({ domainId }) => !found.domains.has(domainId)))
    return new Refusal(
      403,
      'domain_not_verified',
      'the domain of `from` is not verified any more; look at its DNS records, and check it again',
    );
  if (account.accepted + wanted <= quota) return undefined;
  const sentence = `the daily quota of ${quota} recipients is used up until midnight UTC (${account.accepted} were accepted today)`;
  return new Refusal(429, 'daily_quota', sentence, { headers: { 'retry-after': String(found.stamp.midnight_in) } });
}
