/*
 * The pull-through cache.
 *
 * Actors. Clients come through planes/oci. `Upstreams` is shared by all requests: the upstream client with its logins and tokens, and the
 * cooldowns of upstreams that failed. manifests.ts checks tags, blobs.ts fetches layers, lists.ts reads tag and referrer lists.
 *
 * Flow of a layer that the repository does not link yet:
 * 1. link-held-blob.ts links it if another repository of the registry has it and the caller may pull there.
 * 2. Otherwise blobs.ts starts one fetch for all clients (`inFlight`), and fill-reservation.ts reserves twice the size in the quota.
 * 3. download.ts reads from the upstream and resumes after cuts. fill.ts writes to the spool (spool.ts) and to the storage.
 * 4. Once the digest is verified, readers get the last byte, and the blob is committed and linked.
 * Without quota the layer is passed through and not kept; pass-through-limit.ts limits these downloads per organization.
 *
 * States of a tag: fresh (checked within a minute); stale (the upstream fails, the copy is served with a Warning); missing (404, for 30 s).
 *
 * Crash. The spool file has no name and vanishes. Reservations are rows of the upload table and expire after 15 minutes. In-flight fetches
 * and cooldowns are in memory only: clients ask again.
 */

import { memoizeNode } from '../../../../kernel/data/node.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { GuardRefusal } from '../../../../kernel/guard/index.ts';
import { makeUpstreamClient, type Target } from '../../clients/upstream/client.ts';
import { makeUpstreamCooldown, type UpstreamCooldown } from '../../clients/upstream/cooldown.ts';
import { RegistryError, UpstreamUnavailable } from '../../rules/errors.ts';
import { fullSpelling, hostOf, otherSpelling, upstreamAt, upstreamPath } from '../../rules/upstreams.ts';
import { isEmptyCacheLimitReached } from '../../store/limits.ts';
import { ensureRepository, type RepositoryRow, repositoryByName } from '../../store/repositories.ts';
import type { RegistryMetrics } from '../metrics.ts';
import type { Engine } from '../settings.ts';
import { makeUpstreamLogins } from '../upstream-credentials.ts';
import { makeBlobFetcher } from './blobs.ts';
import { linkHeldBlob } from './link-held-blob.ts';
import { ListRefused, makeUpstreamLists } from './lists.ts';
import { makeManifestFetcher } from './manifests.ts';
import type { PullThrough, Upstreams, UpstreamWarning } from './types.ts';

export function makeUpstreams(engine: Engine, metrics: RegistryMetrics): Upstreams {
  const { app } = engine;
  const { loginFor, loginFingerprint } = makeUpstreamLogins(app);
  const onRemaining = (upstream: string, pulls: number) => metrics.upstreamRemaining.set({ upstream }, pulls);
  return {
    ...engine,
    metrics,
    node: memoizeNode(app),
    client: makeUpstreamClient({ guard: app.guard, loginFor, onRemaining }),
    cooldown: makeUpstreamCooldown({
      log: app.log,
      loginFingerprint,
      count: (upstream, result) => metrics.cacheManifests.inc({ upstream, result }),
    }),
  };
}

/** The pull-through cache: `<slug>/<catalog host>/<path>` is filled from that host when a client pulls. */
export function makePullThrough(upstreams: Upstreams): PullThrough {
  const { app, cooldown } = upstreams;
  const catalog = app.config.registry_upstreams;
  const manifest = makeManifestFetcher(upstreams);
  const blobs = makeBlobFetcher(upstreams);
  const lists = makeUpstreamLists(upstreams, manifest);

  const targetOf = ({ registry_id, upstream_host, name }: RepositoryRow): Target | undefined => {
    const upstream = upstream_host === null ? undefined : upstreamAt(catalog, upstream_host);
    return upstream && { ...upstream, registryId: registry_id, path: upstreamPath(upstream.host, name) };
  };

  return {
    hostOf: (name) => hostOf(catalog, name),

    // A name that the upstream does not have leaves an empty repository, which the scrub deletes.
    repository: async (slug, registryId, name) => {
      const host = hostOf(catalog, name);
      const made =
        host &&
        (await app.db.write((tx) =>
          ensureCacheRepository(
            tx,
            { registryId, name: fullSpelling(host, name), upstreamHost: host },
            otherSpelling(catalog, fullSpelling(host, name)),
          ),
        ));
      if (!made) throw new RegistryError('NAME_UNKNOWN', `there is no repository ${slug}/${name}`);
      return made;
    },

    manifest: async (repository, reference) => {
      const target = targetOf(repository);
      if (!target) return; // no longer in the catalog: the local copy is still served
      const { warning, missing } = await askUpstream(cooldown, target, () => manifest(repository, target, reference));
      if (missing) throw new RegistryError('MANIFEST_UNKNOWN', `the upstream ${target.host} has no ${target.path}:${reference}`);
      return warning ? { warning } : undefined;
    },

    blob: async (repository, digest) => {
      const target = targetOf(repository);
      return target && askUpstream(cooldown, target, () => blobs.fetch(repository, target, digest));
    },

    linkHeldBlob: async (repository, digest, mayPull) =>
      targetOf(repository) !== undefined && linkHeldBlob(upstreams, repository, digest, mayPull),

    blobSize: async (repository, digest) => {
      const target = targetOf(repository);
      return target && askUpstream(cooldown, target, () => blobs.sizeOf(repository, target, digest));
    },

    tags: async (repository, query) => {
      const target = targetOf(repository);
      return target && askForList(cooldown, target, () => lists.tags(repository, target, query));
    },

    referrers: async (repository, digest, query) => {
      const target = targetOf(repository);
      return target && askForList(cooldown, target, () => lists.referrers(repository, target, digest, query));
    },
  };
}

/** Limits the empty repositories that unknown names leave in a registry. */
export const maxEmptyCachesPerRegistry = 1_000;

interface NewCacheRepository {
  registryId: string;
  name: string;
  upstreamHost: string;
}

async function ensureCacheRepository(tx: Tx, wanted: NewCacheRepository, otherName: string | null): Promise<RepositoryRow | undefined> {
  const known = await repositoryByName(tx, wanted.registryId, wanted.name, otherName);
  if (known) return known;
  if (await isEmptyCacheLimitReached(tx, wanted.registryId, maxEmptyCachesPerRegistry))
    throw new RegistryError(
      'TOOMANYREQUESTS',
      `${maxEmptyCachesPerRegistry} names were asked for that the upstream does not have; they are forgotten within two days, or delete those repositories`,
      { retryAfterSeconds: 3_600 },
    );
  return ensureRepository(tx, wanted);
}

/** If the upstream does not give a list, the local content is listed with a warning. */
async function askForList<T>(cooldown: UpstreamCooldown, target: Target, act: () => Promise<T>): Promise<T | UpstreamWarning> {
  try {
    return await askUpstream(cooldown, target, act);
  } catch (error) {
    const excused =
      error instanceof ListRefused ||
      error instanceof UpstreamUnavailable ||
      (error instanceof RegistryError && error.cause instanceof GuardRefusal);
    if (!excused) throw error;
    return { warning: `${error.message.replaceAll('"', "'")}; only what is cached here is listed` };
  }
}

/** Logs an unavailable upstream once. A refusal of the guard is DENIED: only the operator can allow the address. */
async function askUpstream<T>(cooldown: UpstreamCooldown, target: Target, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof UpstreamUnavailable) cooldown.logOnce(target, error);
    if (error instanceof GuardRefusal) throw new RegistryError('DENIED', error.message, { cause: error });
    throw error;
  }
}
