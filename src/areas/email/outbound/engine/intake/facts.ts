import type { Tx } from '../../../../../kernel/db/index.ts';
import { makeIds } from '../../../../../kernel/time.ts';
import { foldAddress } from '../../../rules/envelope.ts';
import * as store from '../../store/intake.ts';
import { findLiveKeys } from './live-keys.ts';
import type { PendingSubmit } from './types.ts';

/** Loads everything that verdicts depend on, in one round trip. */
export async function loadFacts(tx: Tx, batch: PendingSubmit[]) {
  const submissions = batch.flatMap(({ request }) => request.submissions);
  const keys = batch.flatMap(
    ({
      request: {
        idempotency,
        submissions: [first],
      },
    }) => (idempotency ? [{ org: first!.org, ...idempotency }] : []),
  );
  const addresses = submissions.flatMap(({ org, envelope }) => envelope.map((address) => ({ org, folded: foldAddress(address) })));
  const input = {
    orgs: [...new Set(submissions.map(({ org }) => org))],
    domains: [...new Set(submissions.map(({ domainId }) => domainId))],
    addresses,
  };
  const [judgeKey, { now, midnight_in, accounts, suppressed, domains }, claimed, made] = await Promise.all([
    findLiveKeys(tx, submissions),
    store.readBatchState(tx, input),
    keys.length ? store.claimKeys(tx, keys) : [],
    keys.length ? store.findSubmissions(tx, keys) : [],
  ]);
  return {
    judgeKey,
    stamp: { now, midnight_in, ids: makeIds('msg', now, submissions.length) },
    accounts: new Map(accounts.map((a) => [a.org_id, a])),
    claimed: new Set(claimed.map((c) => `${c.org_id} ${c.key}`)),
    made: new Map(made.map((m) => [`${m.org_id} ${m.key}`, m])),
    suppressed: new Set(suppressed.map((s) => `${s.org_id} ${s.address}`)),
    domains: new Set(domains),
  };
}
export type BatchFacts = Awaited<ReturnType<typeof loadFacts>>;
