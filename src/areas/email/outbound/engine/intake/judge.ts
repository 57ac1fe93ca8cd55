import { Refusal } from '../../../../../kernel/errors.ts';
import { foldAddress } from '../../../rules/envelope.ts';
import { scenarioOf } from '../../rules/simulator.ts';
import type { AcceptedMessage } from '../submission.ts';
import type { BatchFacts } from './facts.ts';
import type { PendingSubmit } from './types.ts';

export type Verdict =
  /** `holdsIdempotencyKey`: this batch claimed the key, and frees it again. */
  | { refusal: Refusal; holdsIdempotencyKey: boolean }
  | { messages: AcceptedMessage[]; replayed: true }
  | { messages: AcceptedMessage[]; replayed: false; ids: string[]; suppressed: ReadonlySet<string> };

/** Verdicts in order of arrival: each accepted request uses up daily quota before the next one is judged. */
export function judge(batch: PendingSubmit[], facts: BatchFacts, defaultQuota: number): Verdict[] {
  const used = new Map<string, number>();
  let nextId = 0;
  return batch.map(({ request: { submissions, idempotency } }) => {
    const ids = facts.stamp.ids.slice(nextId, nextId + submissions.length);
    nextId += submissions.length;
    const { org } = submissions[0]!;
    const scopedKey = `${org} ${idempotency?.key}`;
    const holdsIdempotencyKey = idempotency !== undefined && facts.claimed.has(scopedKey);
    const revoked = facts.judgeKey(submissions[0]!);
    if (revoked) return { refusal: revoked, holdsIdempotencyKey };
    if (idempotency && !holdsIdempotencyKey) return replay(facts.made.get(scopedKey), idempotency.fingerprint);

    const recipients = submissions.reduce((sum, { envelope }) => sum + envelope.length, 0);
    const refusal = refusalOf(facts, org, submissions, (used.get(org) ?? 0) + recipients, defaultQuota);
    if (refusal) return { refusal, holdsIdempotencyKey };
    used.set(org, (used.get(org) ?? 0) + recipients);
    const addresses = submissions.flatMap(({ envelope }) => envelope.map(foldAddress));
    return {
      ids,
      messages: submissions.map(({ messageId }, i) => ({ id: ids[i]!, messageId })),
      replayed: false,
      suppressed: new Set(addresses.filter((address) => facts.suppressed.has(`${org} ${address}`) || scenarioOf(address) === 'suppressed')),
    };
  });
}

function replay(made: { fingerprint: Buffer; message_ids: string[]; header_ids: string[] } | undefined, fingerprint: Buffer): Verdict {
  if (made?.fingerprint.equals(fingerprint))
    return { messages: made.message_ids.map((id, i) => ({ id, messageId: made.header_ids[i] ?? '' })), replayed: true };
  const sentence = 'this Idempotency-Key was used before with another message; use a new key';
  return { refusal: new Refusal(409, 'idempotency_mismatch', sentence), holdsIdempotencyKey: false };
}

function refusalOf(facts: BatchFacts, org: string, submissions: readonly { domainId: string }[], wanted: number, defaultQuota: number) {
  const account = facts.accounts.get(org)!;
  const quota = account.daily_quota ?? defaultQuota;
  if (account.is_paused)
    return new Refusal(
      403,
      'sending_paused',
      `sending is paused: ${account.pause_reason ?? 'by the operator'}; whoever runs this server can lift it`,
    );
  if (submissions.some(({ domainId }) => !facts.domains.has(domainId)))
    return new Refusal(
      403,
      'domain_not_verified',
      'the domain of `from` is not verified any more; look at its DNS records, and check it again',
    );
  if (account.accepted + wanted <= quota) return undefined;
  const sentence = `the daily quota of ${quota} recipients is used up until midnight UTC (${account.accepted} were accepted today)`;
  return new Refusal(429, 'daily_quota', sentence, { headers: { 'retry-after': String(facts.stamp.midnight_in) } });
}
