import { randomBytes } from 'node:crypto';
import { type Loader, topics } from '../../../identity/principal.ts';
import { mintKey } from '../../../identity/token-format.ts';
import type { Caches } from '../../../kernel/cache.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, forbidden, notFound } from '../../../kernel/errors.ts';
import { hint } from '../../../kernel/jobs/index.ts';
import { type BootstrapToken, bootstrapTokenFrom } from '../rules/bootstrap-token.ts';
import { lifetimes } from '../rules/lifetimes.ts';
import { tierOf } from '../rules/tiers.ts';
import type { ClusterRow } from '../store/clusters.ts';
import * as store from '../store/tokens.ts';

const maxRegistrations = 100;

export interface JoinToken {
  token: BootstrapToken;
  expiresAt: string;
}

function newBootstrapToken(): BootstrapToken {
  for (;;) {
    const made = bootstrapTokenFrom(randomBytes(64));
    if (made) return made;
  }
}

export interface JoinTokenOptions {
  /** The registration token that it is made from. */
  registration?: string | undefined;
  /** The one node that it is good for. */
  node?: string | undefined;
}

/** Records a join token before it is created in the cluster: the approver accepts only recorded tokens. */
export async function recordJoinToken(tx: Tx, cluster: ClusterRow, { registration, node }: JoinTokenOptions = {}): Promise<JoinToken> {
  const maxOpenTokens = 2 * tierOf(cluster.tier).nodes;
  if ((await store.countOpenJoinTokens(tx, cluster.id)) >= maxOpenTokens)
    conflict(
      `cluster ${cluster.name} has ${maxOpenTokens} unused join tokens, as many as it may; they expire within ${lifetimes.joinToken / 60} minutes`,
    );
  for (let attempt = 0; attempt < 5; attempt++) {
    const token = newBootstrapToken();
    const made = await store.insertJoinToken(tx, cluster.org_id, {
      cluster: cluster.id,
      id: token.id,
      seconds: lifetimes.joinToken,
      registration,
      node,
    });
    if (!made) continue;
    hint(tx, cluster.org_id, 'clusters.token');
    return { token, expiresAt: made.expires_at };
  }
  return conflict('no free join token was found; try again');
}

/** The token is shown once. */
export async function mintRegistration(tx: Tx, cluster: ClusterRow, name: string, expiresIn: number | undefined) {
  if ((await store.countRegistrations(tx, cluster.id)) >= maxRegistrations)
    forbidden(`cluster ${cluster.name} has ${maxRegistrations} registration tokens, as many as it may; revoke one first`, {
      code: 'quota_reached',
    });
  const { key, hash } = mintKey('node');
  return { token: key, row: await store.insertRegistration(tx, cluster.org_id, { cluster: cluster.id, name, hash, expiresIn }) };
}

export async function setRegistrationDisabled(tx: Tx, caches: Caches, cluster: ClusterRow, id: string, disabled: boolean) {
  const changed = (await store.disableRegistration(tx, cluster.org_id, cluster.id, id, disabled)) ?? notFound('registration token');
  await caches.drop(tx, topics.credential(changed.id));
  return changed;
}

/** Neither it nor a join token made from it admits a node from now on. */
export async function revokeRegistration(tx: Tx, caches: Caches, cluster: ClusterRow, id: string) {
  const gone = (await store.deleteRegistration(tx, cluster.org_id, cluster.id, id)) ?? notFound('registration token');
  await caches.drop(tx, topics.credential(gone.id));
  return gone;
}

/** The `access` of a registration token's principal. */
export interface RegistrationAccess {
  clusterId: string;
  name: string;
}

export const loadRegistration: Loader = async (tx, hash) => {
  const found = await store.registrationByHash(tx, hash);
  if (!found) return undefined;
  const org = await store.organizationOf(tx, found.org_id);
  const access: RegistrationAccess = { clusterId: found.cluster_id, name: found.name };
  const dropOn = [topics.org(found.org_id), topics.credential(found.id)];
  if (found.disabled) return { principal: undefined, ttlMs: 0, topics: dropOn };
  return {
    ttlMs: found.ttl_ms ?? Number.POSITIVE_INFINITY,
    topics: dropOn,
    principal: {
      id: found.id,
      org: { id: found.org_id, slug: org.slug },
      entitlements: new Set(org.entitlements),
      grants: new Map(),
      scopes: [],
      customRoles: {},
      access,
    },
  };
};
