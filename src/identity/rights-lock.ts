import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { Caches } from '../kernel/cache.ts';
import type { Tx } from '../kernel/db/index.ts';
import { holdsExclusively, lockInOrder, type RightsLock, tryShare } from './store/rights-locks.ts';

// Rights are checked when a request arrives, and used later: after a queue, a slow body, a row lock. In between they can be revoked.
//
// A principal hangs on topics: its credential and the tokens that minted it, its membership, its organization. Each topic has an advisory
// lock. A transaction that acts for a principal first shares the locks of all its topics, and only then reads its rights: see `Ctx.write`.
// A transaction that takes rights away holds the locks of the topics that it drops exclusively, from its beginning. So a revocation waits
// for the acts under way, which were allowed; an act that comes later waits for the revocation, reads what it left, and is refused.
//
// Why no deadlock: a transaction takes these locks once, all of them in one sorted pass, before any other lock. It never upgrades a shared
// one. Nothing that holds a row waits for one of them.

/** The topics whose locks a transaction needs: those that it acts by, and those that it takes rights away from. */
export interface WantedLocks {
  shares?: readonly string[];
  revokes?: readonly string[];
}

/** The first statement of a transaction. `org` is part of the key: a caller who names another tenant's credential locks nothing of theirs. */
export async function lockRights(tx: Tx, org: string, { shares = [], revokes = [] }: WantedLocks): Promise<void> {
  const locks = new Map<bigint, RightsLock>();
  for (const topic of lockedTopics(shares)) locks.set(keyOf(org, topic), { key: keyOf(org, topic), exclusive: false });
  for (const topic of revokes) locks.set(keyOf(org, topic), { key: keyOf(org, topic), exclusive: true });
  await lockInOrder(tx, inOrder([...locks.values()]));
}

/** The lock keys that a transaction shares when it acts for a principal of these topics, sorted, as PostgreSQL writes numbers. */
export const sharedLocks = (org: string, topics: readonly string[]): string[] =>
  inOrder([...new Set(lockedTopics(topics).map((topic) => keyOf(org, topic)))].map((key) => ({ key, exclusive: false }))).map(({ key }) =>
    String(key),
  );

/**
 * For a transaction that acts for credentials of several tenants at once. It waits for no lock: a tenant's revocation would delay the other
 * tenants. Returns for each whether its locks are shared now; the rights of the others are being changed.
 */
export async function tryShareRights(tx: Tx, all: readonly { org: string; topics: readonly string[] }[]): Promise<boolean[]> {
  const keysOf = all.map(({ org, topics }) => topics.map((topic) => keyOf(org, topic)));
  const missed = new Set(await tryShare(tx, [...new Set(keysOf.flat())]));
  return keysOf.map((keys) => !keys.some((key) => missed.has(key)));
}

/** The lock keys of these topics, as PostgreSQL writes numbers: for a statement that tries them itself. */
export const lockKeys = (org: string, topics: readonly string[]): string[] => topics.map((topic) => String(keyOf(org, topic)));

/** Makes every process forget the principals that hang on a topic, in a transaction that takes rights away from them. */
export async function dropRights(tx: Tx, caches: Pick<Caches, 'drop'>, org: string, topic: string): Promise<void> {
  await checkRevoking(tx, org, topic);
  await caches.drop(tx, topic);
}

/** In tests: rights that are taken away without their lock could still be used by a transaction that has read them. */
async function checkRevoking(tx: Tx, org: string, topic: string): Promise<void> {
  if (tx.checksRows && !(await holdsExclusively(tx, keyOf(org, topic))))
    throw new Error(`${topic} is dropped by a transaction that did not begin with its lock; name it in \`revokes\``);
}

/**
 * A principal may also depend on the topics of its resources, of which there can be thousands. Those have no locks, so at most 12 are left.
 * A change of the whole organization's rights locks the topic of its roles as well, so members share that topic alone.
 */
function lockedTopics(topics: readonly string[]): string[] {
  const isPerson = topics.some((topic) => topic.startsWith('roles '));
  return topics.filter((topic) => (isPerson ? /^(credential|session|user|roles) / : /^(credential|user|org) /).test(topic));
}

/** Caches keys of recently locked topics: a busy SMTP listener locks the same ones with every batch. */
const knownKeys = new LRUCache<string, bigint>({ max: 10_000 });

function keyOf(org: string, topic: string): bigint {
  // The topic of a session names its person, whose sessions only that person ends.
  const name = topic.startsWith('session ') ? `rights ${topic}` : `rights ${org} ${topic}`;
  let key = knownKeys.get(name);
  if (key === undefined) {
    key = hash('sha256', name, 'buffer').readBigInt64BE(0);
    knownKeys.set(name, key);
  }
  return key;
}

const inOrder = (locks: RightsLock[]): RightsLock[] => locks.sort((a, b) => (a.key < b.key ? -1 : a.key > b.key ? 1 : 0));
