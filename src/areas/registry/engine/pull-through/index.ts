import { rememberNode } from '../../../../kernel/data/node.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { GuardRefusal } from '../../../../kernel/guard/index.ts';
import { type Away, makeAway } from '../../clients/upstream/away.ts';
import { makeUpstreamClient, type Target } from '../../clients/upstream/client.ts';
import { RegistryError, UpstreamAway } from '../../rules/errors.ts';
import { fullSpelling, hostOf, otherSpelling, upstreamAt, upstreamPath } from '../../rules/upstreams.ts';
import { hasAllEmptyCaches } from '../../store/limits.ts';
import { ensureRepository, type RepositoryRow, repositoryByName } from '../../store/repositories.ts';
import type { RegistryMetrics } from '../metrics.ts';
import type { Engine } from '../settings.ts';
import { makeUpstreamLogins } from '../upstream-credentials.ts';
import { makeBlobFetcher } from './blobs.ts';
import { linkHeld } from './held.ts';
import { makeUpstreamLists, NoList } from './lists.ts';
import { makeManifestFetcher } from './manifests.ts';
import type { PullThrough, Unheard, Upstreams } from './types.ts';

export function makeUpstreams(engine: Engine, metrics: RegistryMetrics): Upstreams {
  const { app } = engine;
  const { loginFor, whoAsks } = makeUpstreamLogins(app);
  const onRemaining = (upstream: string, pulls: number) => metrics.upstreamRemaining.set({ upstream }, pulls);
  return {
    ...engine,
    metrics,
    node: rememberNode(app),
    client: makeUpstreamClient({ guard: app.guard, loginFor, onRemaining }),
    away: makeAway({ log: app.log, whoAsks, count: (upstream, result) => metrics.cacheManifests.inc({ upstream, result }) }),
  };
}

/** The pull-through cache: `<slug>/<catalog host>/<path>` is filled from that host as it is pulled. */
export function makePullThrough(upstreams: Upstreams): PullThrough {
  const { app, away } = upstreams;
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

    // The row of a name that nobody has upstream stays empty, and goes with the sweep of empty repositories.
    repository: async (slug, registryId, name) => {
      const host = hostOf(catalog, name);
      const made =
        host &&
        (await app.db.write((tx) =>
          makeCache(
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
      if (!target) return; // no longer in the catalog: what is here is still served
      const { warning, missing } = await askUpstream(away, target, () => manifest(repository, target, reference));
      if (missing) throw new RegistryError('MANIFEST_UNKNOWN', `the upstream ${target.host} has no ${target.path}:${reference}`);
      return warning ? { warning } : undefined;
    },

    blob: async (repository, digest) => {
      const target = targetOf(repository);
      return target && askUpstream(away, target, () => blobs.fetch(repository, target, digest));
    },

    linkHere: async (repository, digest, mayPull) => targetOf(repository) !== undefined && linkHeld(upstreams, repository, digest, mayPull),

    blobSize: async (repository, digest) => {
      const target = targetOf(repository);
      return target && askUpstream(away, target, () => blobs.sizeOf(repository, target, digest));
    },

    tags: async (repository, query) => {
      const target = targetOf(repository);
      return target && askForList(away, target, () => lists.tags(repository, target, query));
    },

    referrers: async (repository, digest, query) => {
      const target = targetOf(repository);
      return target && askForList(away, target, () => lists.referrers(repository, target, digest, query));
    },
  };
}

/** Names that the upstream does not have leave so many rows in a registry at most. */
export const mostEmptyCaches = 1_000;

interface CachePlace {
  registryId: string;
  name: string;
  upstreamHost: string;
}

async function makeCache(tx: Tx, place: CachePlace, otherName: string | null): Promise<RepositoryRow | undefined> {
  const known = await repositoryByName(tx, place.registryId, place.name, otherName);
  if (known) return known;
  if (await hasAllEmptyCaches(tx, place.registryId, mostEmptyCaches))
    throw new RegistryError(
      'TOOMANYREQUESTS',
      `${mostEmptyCaches} names were asked for that the upstream does not have; they are forgotten within two days, or delete those repositories`,
      { retrySeconds: 3_600 },
    );
  return ensureRepository(tx, place);
}

/** A list that the upstream does not give is made of what is here. */
async function askForList<T>(away: Away, target: Target, act: () => Promise<T>): Promise<T | Unheard> {
  try {
    return await askUpstream(away, target, act);
  } catch (error) {
    const excused =
      error instanceof NoList || error instanceof UpstreamAway || (error instanceof RegistryError && error.cause instanceof GuardRefusal);
    if (!excused) throw error;
    return { warning: `${error.message.replaceAll('"', "'")}; only what is cached here is listed` };
  }
}

/** An upstream that is away is told to the operator once; what the guard refuses is for the operator to open. */
async function askUpstream<T>(away: Away, target: Target, act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof UpstreamAway) away.say(target, error);
    if (error instanceof GuardRefusal) throw new RegistryError('DENIED', error.message, { cause: error });
    throw error;
  }
}
