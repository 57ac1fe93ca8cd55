import type { App } from '../../../../kernel/app.ts';
import { GuardRefusal } from '../../../../kernel/guard/index.ts';
import { ensureRepository, type RepositoryRow } from '../../store/repositories.ts';
import { OciError } from '../../planes/oci/errors.ts';
import type { PullThrough, Unheard } from './types.ts';
import { makeAway } from '../../clients/upstream/away.ts';
import { makeBlobFetcher } from './blobs.ts';
import { hostOf, upstreamAt, upstreamPath } from '../../rules/upstreams.ts';
import { makeUpstreamClient, type Target, UpstreamAway } from '../../clients/upstream/client.ts';
import { makeUpstreamLists, NoList } from './lists.ts';
import { makeManifestFetcher } from './manifests.ts';

/** The pull-through cache: `<slug>/<catalog host>/<path>` is filled from that host as it is pulled. */
export function makePullThrough(app: App): PullThrough {
  const client = makeUpstreamClient(app);
  const away = makeAway(app);
  const manifest = makeManifestFetcher(app, client, away);
  const blobs = makeBlobFetcher(app, client);
  const lists = makeUpstreamLists(app, client, away, manifest);

  const targetOf = ({ registry_id, upstream_host, name }: RepositoryRow): Target | undefined => {
    const upstream = upstream_host === null ? undefined : upstreamAt(app, upstream_host);
    return upstream && { ...upstream, registryId: registry_id, path: upstreamPath(upstream.host, name) };
  };

  return {
    hostOf: (name) => hostOf(app, name),

    // The row of a name that nobody has upstream stays empty, and goes with the sweep of empty repositories.
    repository: async (slug, registryId, _org, name) => {
      const host = hostOf(app, name);
      const made = host && (await app.db.write((tx) => ensureRepository(tx, { registryId, name, upstreamHost: host })));
      if (!made) throw new OciError('NAME_UNKNOWN', `there is no repository ${slug}/${name}`);
      return made;
    },

    manifest: async (repository, reference) => {
      const target = targetOf(repository);
      if (!target) return; // no longer in the catalog: what is here is still served
      const { warning, missing } = await told(target, () => manifest(repository, target, reference));
      if (missing) throw new OciError('MANIFEST_UNKNOWN', `the upstream ${target.host} has no ${target.path}:${reference}`);
      return warning ? { warning } : undefined;
    },

    blob: async (repository, digest) => {
      const target = targetOf(repository);
      return target && told(target, () => blobs.fetch(repository, target, digest));
    },

    blobSize: async (repository, digest) => {
      const target = targetOf(repository);
      return target && told(target, () => blobs.sizeOf(repository, target, digest));
    },

    tags: async (repository, query) => {
      const target = targetOf(repository);
      return target && heard(target, () => lists.tags(repository, target, query));
    },

    referrers: async (repository, digest, query) => {
      const target = targetOf(repository);
      return target && heard(target, () => lists.referrers(repository, target, digest, query));
    },
  };

  /** A list that the upstream does not give is made of what is here. */
  async function heard<T>(target: Target, act: () => Promise<T>): Promise<T | Unheard> {
    try {
      return await told(target, act);
    } catch (error) {
      const excused =
        error instanceof NoList || (error instanceof OciError && (error.status >= 429 || error.cause instanceof GuardRefusal));
      if (!excused) throw error;
      return { warning: `${error.message.replaceAll('"', "'")}; only what is cached here is listed` };
    }
  }

  /** In the protocol's words: 429 stays 429, so that clients wait; what the guard refuses is for the operator to open. */
  async function told<T>(target: Target, act: () => Promise<T>): Promise<T> {
    try {
      return await act();
    } catch (error) {
      if (error instanceof UpstreamAway) {
        away.say(target, error);
        const headers = { 'Retry-After': String(Math.ceil(error.retrySeconds)) };
        throw new OciError(error.status === 429 ? 'TOOMANYREQUESTS' : 'UNAVAILABLE', error.message, {
          status: error.status,
          headers,
          cause: error,
          logged: true,
        });
      }
      if (error instanceof GuardRefusal) throw new OciError('DENIED', error.message, { cause: error });
      throw error;
    }
  }
}
