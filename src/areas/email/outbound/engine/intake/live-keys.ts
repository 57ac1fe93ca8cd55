import { topics } from '../../../../../identity/principal.ts';
import { lockKeys, tryShareRights } from '../../../../../identity/rights-lock.ts';
import type { Tx } from '../../../../../kernel/db/index.ts';
import { Refusal } from '../../../../../kernel/errors.ts';
import { findLive } from '../../store/send-keys.ts';
import { notEntitled } from '../sender-authorization.ts';
import type { Submission } from '../submission.ts';

type KeyedSubmission = Pick<Submission, 'org' | 'sendKeyId'>;

/** The refusal of a submission because of its send key; undefined: the key is good. */
export type RefuseKey = (submission: KeyedSubmission) => Refusal | undefined;

/**
 * First step of a batch's transaction: takes shared locks on its send keys, then reads which keys are still valid. A key revoked while its
 * message waited is refused. A key that is being revoked gets 503: a batch holds messages of many tenants, so it does not wait for the lock.
 */
export async function findLiveKeys(tx: Tx, submissions: readonly KeyedSubmission[]): Promise<RefuseKey> {
  const keys = [...new Map(submissions.map(({ sendKeyId: id, org }) => [id, org]))];
  const orgs = [...new Set(keys.map(([, org]) => org))];
  const [shared, live] = await Promise.all([
    tryShareRights(
      tx,
      keys.map(([id, org]) => ({ org, topics: topicsOf(org, id) })),
    ),
    findLive(
      tx,
      keys.map(([id]) => id),
      orgs,
    ),
  ]);
  const changing = new Set(keys.filter((_, n) => !shared[n]).map(([id]) => id));
  const [liveKeys, entitled] = [new Set(live.keys), new Set(live.orgs)];
  return ({ org, sendKeyId }) => {
    if (!liveKeys.has(sendKeyId)) return new Refusal(401, 'unauthenticated', 'no valid session: the send key is unknown or revoked');
    if (!entitled.has(org)) return notEntitled();
    return changing.has(sendKeyId) ? keyIsChanging() : undefined;
  };
}

const topicsOf = (org: string, key: string) => [topics.org(org), topics.credential(key)];

/** The distinct keys of a batch and their rights locks, for a statement that locks and checks in one. */
export function keysOf(submissions: readonly KeyedSubmission[]): { keys: string[]; locks: string[] } {
  const keys = new Set<string>();
  const locks = new Set<string>();
  for (const { sendKeyId, org } of submissions) {
    if (keys.has(sendKeyId)) continue;
    keys.add(sendKeyId);
    for (const lock of lockKeys(org, topicsOf(org, sendKeyId))) locks.add(lock);
  }
  return { keys: [...keys], locks: [...locks] };
}

const keyIsChanging = () =>
  new Refusal(503, 'busy', 'the rights of the send key are being changed at this moment; send this again in a second', {
    headers: { 'retry-after': '1' },
  });
