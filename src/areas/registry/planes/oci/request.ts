import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LRUCache } from 'lru-cache';
import type { ContentCache } from '../../engine/content-cache.ts';
import type { Authenticate, CallerAccess, CheckPermission } from '../../engine/credentials/index.ts';
import type { RegistryMetrics } from '../../engine/metrics.ts';
import type { PullThrough } from '../../engine/pull-through/types.ts';
import type { Hashes } from '../../engine/push/hashes.ts';
import type { WriteLeases } from '../../engine/push/write-leases.ts';
import type { Engine } from '../../engine/settings.ts';
import { type Access, type Action, may } from '../../rules/access.ts';
import { splitName } from '../../rules/names.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';
import type { Buffers } from './send.ts';

/** A small blob ready to send: header names and values alternating, and the bytes. */
export interface SmallBlob {
  headers: readonly string[];
  bytes: Buffer;
}

/** State that all handlers share; made once per process. */
export interface DataPlane extends Engine {
  authenticate: Authenticate;
  pullThrough: PullThrough | undefined;
  contentCache: ContentCache;
  hashes: Hashes;
  /** Write leases on uploads, for servers that share a storage. */
  leases: WriteLeases;
  metrics: RegistryMetrics;
  buffers: Buffers;
  /** Small blobs by digest. Access is checked before a lookup. */
  smallBlobs: LRUCache<string, SmallBlob>;
  /** The node whose disk holds the uploads; with S3 all servers share one. */
  node: () => Promise<string>;
  /** Records a pull for retention; written later, in batches. */
  markPulled(manifestId: number): void;
}

/** One request. */
export interface Call {
  plane: DataPlane;
  request: IncomingMessage;
  response: ServerResponse;
  method: string;
  query: URLSearchParams;
  access: CallerAccess;
}

/** A repository that the caller has the right to access. It need not exist yet. */
export interface RepositoryAddress {
  name: string;
  slug: string;
  registryId: string;
  repository: string;
}

export const noQuery = new URLSearchParams();

/** Checks the caller's right to a repository. The error makes clients fetch a better token if one would help. */
export function requireAccess(plane: DataPlane, access: Access, name: string, actions: readonly Action[]): RepositoryAddress {
  const parts = splitName(name);
  if (!parts)
    throw new OciError(
      'NAME_INVALID',
      'a repository is named <registry>/<repository>, in lower-case letters, digits and . _ - between them',
    );
  const { slug, repository } = parts;
  const reach = access.registries.get(slug);
  for (const action of actions) {
    if (reach && may(access, slug, repository, action)) continue;
    const whole = { ...access, scopes: undefined };
    if (access.scopes && may(whole, slug, repository, action))
      throw challenge(plane.app, scopeOf(name, action === 'push' ? ['pull', 'push'] : actions), true);
    throw new OciError(
      'DENIED',
      `this credential may not ${action} ${action === 'push' ? 'to' : action === 'pull' ? 'from' : 'in'} ${name}`,
    );
  }
  return { name, slug, repository, registryId: reach!.registryId };
}

/** Checks the right again, in the transaction that changes something: a body takes minutes to arrive, and row locks are waited for. */
export const checkPermission =
  ({ plane, access }: Pick<Call, 'plane' | 'access'>, name: string, actions: readonly Action[]): CheckPermission =>
  async (tx) => {
    const current = access.reloadInTransaction ? await access.reloadInTransaction(tx) : access;
    if (!current) throw challenge(plane.app, scopeOf(name, actions));
    requireAccess(plane, current, name, actions);
  };

export const scopeOf = (name: string, actions: readonly Action[]) => `repository:${name}:${actions.join(',')}`;

/** The repository at an address, for reading. A cached repository is created on the first pull. */
export async function repositoryAt({ plane }: Call, address: RepositoryAddress): Promise<RepositoryRow | undefined> {
  const known = await plane.contentCache.repository(address.registryId, address.repository);
  if (known) return known;
  if (!plane.pullThrough?.hostOf(address.repository)) return undefined;
  return plane.pullThrough.repository(address.slug, address.registryId, address.repository);
}

export async function knownRepository(call: Call, address: RepositoryAddress): Promise<RepositoryRow> {
  return (await repositoryAt(call, address)) ?? unknownName(address);
}

export const unknownName = ({ name }: RepositoryAddress): never => {
  throw new OciError('NAME_UNKNOWN', `there is no repository ${name}`);
};

/** Clients cannot push to a repository that caches an upstream. */
export function refuseCached({ plane }: Call, address: RepositoryAddress) {
  const host = plane.pullThrough?.hostOf(address.repository);
  if (host) throw new OciError('DENIED', `${address.name} is a cache of ${host}; push to another repository`);
}
