import type { App } from '../../../../kernel/app.ts';
import { GuardRefusal } from '../../../../kernel/guard/index.ts';
import { ensureRepository, type RepositoryRow } from '../../store/repositories.ts';
import { OciError } from '../oci/errors.ts';
import type { PullThrough } from '../oci/upstream.ts';
import { makeBlobFetcher } from './blobs.ts';
import { hostOf, upstreamAt, upstreamPath } from './catalog.ts';
import { makeUpstreamClient, type Target, UpstreamAway } from './client.ts';
import { makeManifestFetcher } from './manifests.ts';

/** The pull-through cache: `<slug>/<catalog host>/<path>` is filled from that host as it is pulled. */
export function makePullThrough(app: App): PullThrough {
  const client = makeUpstreamClient(app);
  const manifest = makeManifestFetcher(app, client);
  const blob = makeBlobFetcher(app, client);

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
      const { warning, missing } = await told(() => manifest(repository, target, reference));
      if (missing) throw new OciError('MANIFEST_UNKNOWN', `the upstream ${target.host} has no ${target.path}:${reference}`);
      return warning ? { warning } : undefined;
    },

    blob: async (repository, digest) => {
      const target = targetOf(repository);
      return target && told(() => blob(repository, target, digest));
    },
  };
}

/** In the protocol's words: 429 stays 429, so that clients wait; what the guard refuses is for the operator to open. */
async function told<T>(act: () => Promise<T>): Promise<T> {
  try {
    return await act();
  } catch (error) {
    if (error instanceof UpstreamAway) {
      const headers = { 'Retry-After': String(Math.ceil(error.retrySeconds)) };
      throw new OciError(error.status === 429 ? 'TOOMANYREQUESTS' : 'UNAVAILABLE', error.message, {
        status: error.status,
        headers,
        cause: error,
      });
    }
    if (error instanceof GuardRefusal) throw new OciError('DENIED', error.message, { cause: error });
    throw error;
  }
}
