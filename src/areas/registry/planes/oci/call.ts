import type { IncomingMessage, ServerResponse } from 'node:http';
import type { LRUCache } from 'lru-cache';
import type { Allow, Authenticate, CallerAccess } from '../../engine/credentials/index.ts';
import type { RegistryMetrics } from '../../engine/metrics.ts';
import type { Places } from '../../engine/places.ts';
import type { PullThrough } from '../../engine/pull-through/types.ts';
import type { Hashes } from '../../engine/push/hashes.ts';
import type { WriteLeases } from '../../engine/push/leases.ts';
import type { Engine } from '../../engine/settings.ts';
import { type Access, type Action, may } from '../../rules/access.ts';
import { splitName } from '../../rules/names.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { challenge } from './challenge.ts';
import { OciError } from './errors.ts';
import type { SmallBlob } from './remembered.ts';
import type { Buffers } from './send.ts';

/** What every handler leans on, made once for a process. */
export interface DataPlane extends Engine {
  authenticate: Authenticate;
  cache: PullThrough | undefined;
  places: Places;
  hashes: Hashes;
  /** Who may write to an upload, of several servers that share a store. */
  leases: WriteLeases;
  metrics: RegistryMetrics;
  buffers: Buffers;
  /** Small blobs by digest; who may see one was asked before. */
  small: LRUCache<string, SmallBlob>;
  /** Which machine's files uploads are in; with S3 all of them share one. */
  node: () => Promise<string>;
  /** Notes that somebody pulled a manifest, for retention; written later, many at once. */
  pulled(manifestId: number): void;
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

/** A repository that the caller may do this to. It need not exist yet. */
export interface Place {
  name: string;
  slug: string;
  registryId: string;
  repository: string;
}

export const noQuery = new URLSearchParams();

/** The caller's right to a repository; refused in the way that makes clients fetch a better token, if a better one can be had. */
export function permit(plane: DataPlane, access: Access, name: string, actions: readonly Action[]): Place {
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

/** The same once more, in the transaction that changes something: a body takes minutes to come, and rows are waited for. */
export const allow =
  ({ plane, access }: Pick<Call, 'plane' | 'access'>, name: string, actions: readonly Action[]): Allow =>
  async (tx) => {
    const current = access.within ? await access.within(tx) : access;
    if (!current) throw challenge(plane.app, scopeOf(name, actions));
    permit(plane, current, name, actions);
  };

export const scopeOf = (name: string, actions: readonly Action[]) => `repository:${name}:${actions.join(',')}`;

/** The repository behind a place, for reading. Cached upstreams make theirs on the first pull. */
export async function repositoryAt({ plane }: Call, place: Place): Promise<RepositoryRow | undefined> {
  const known = await plane.places.repository(place.registryId, place.repository);
  if (known) return known;
  if (!plane.cache?.hostOf(place.repository)) return undefined;
  return plane.cache.repository(place.slug, place.registryId, place.repository);
}

export async function knownRepository(call: Call, place: Place): Promise<RepositoryRow> {
  return (await repositoryAt(call, place)) ?? unknownName(place);
}

export const unknownName = ({ name }: Place): never => {
  throw new OciError('NAME_UNKNOWN', `there is no repository ${name}`);
};

/** Nobody pushes to what caches an upstream. */
export function refuseCached({ plane }: Call, place: Place) {
  const host = plane.cache?.hostOf(place.repository);
  if (host) throw new OciError('DENIED', `${place.name} is a cache of ${host}; push to another repository`);
}
