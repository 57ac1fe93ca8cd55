import type { GuardResponse } from '../../../../kernel/guard/index.ts';
import type { Target } from '../../clients/upstream/client.ts';
import { RegistryError, UpstreamUnavailable } from '../../rules/errors.ts';
import { type Manifest, ManifestInvalid, mediaTypes, parseManifest } from '../../rules/manifest.ts';
import { algorithmOf, isDigest } from '../../rules/names.ts';
import { topics } from '../../rules/topics.ts';
import { lockTag, manifestByDigest, manifestByTag } from '../../store/manifests.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { lastCheck, noteChecked, noteMissing } from '../../store/upstreams.ts';
import { fillEvictsUnusedForSeconds, withEviction } from '../gc/evict.ts';
import { digestOf, storeManifest } from '../push/store-manifest.ts';
import { removeTag } from '../removal.ts';
import type { Upstreams } from './types.ts';

// A tag is checked by HEAD, which Docker Hub does not count, at most once a minute per installation. A digest never changes, so it is
// fetched once. A failing upstream gets a cooldown, and the local copy is served with a Warning.

/** `missing`: the upstream has no such manifest. */
export type TagCheck = { warning?: string; missing?: true };
export type RefreshManifest = (repository: RepositoryRow, target: Target, reference: string) => Promise<TagCheck>;

const freshSeconds = 60;
const missingSeconds = 30;
const accept = Object.values(mediaTypes).join(', ');

export function makeManifestFetcher(upstreams: Upstreams): RefreshManifest {
  const known = upstreams.app.caches.make<TagCheck>({ max: 50_000, ttlMs: freshSeconds * 1000 });

  return async (repository, target, reference) => {
    const found = (await known.get(`${repository.id} ${reference}`, async () => {
      const byDigest = isDigest(reference);
      const value = await (byDigest ? ensureDigest : refreshTag)(upstreams, repository, target, reference);
      const ttlMs = value.warning ? 5_000 : value.missing ? missingSeconds * 1000 : freshSeconds * 1000;
      return { value, topics: [topics.repository(repository.id), ...(byDigest ? [] : [topics.tag(repository.id, reference)])], ttlMs };
    }))!;
    const result = found.missing ? 'missing' : found.warning ? 'stale' : 'served';
    upstreams.metrics.cacheManifests.inc({ upstream: target.host, result });
    return found;
  };
}

async function ensureDigest(upstreams: Upstreams, repository: RepositoryRow, target: Target, digest: string): Promise<TagCheck> {
  const { app, cooldown } = upstreams;
  if (await app.db.read((tx) => manifestByDigest(tx, repository.id, digest))) return {};
  return (await cooldown.run(target, digest, () => fetchManifest(upstreams, repository, target, digest, undefined)))
    ? {}
    : { missing: true };
}

async function refreshTag(upstreams: Upstreams, repository: RepositoryRow, target: Target, tag: string): Promise<TagCheck> {
  const { app, cooldown } = upstreams;
  const { id } = repository;
  const [check, here] = await app.db.read(async (tx) => [await lastCheck(tx, id, tag), await manifestByTag(tx, id, tag)] as const);
  // The tag was pushed while this repository was not a cache. It keeps standing for the pushed image.
  if (here && !here.cached && check?.digest !== here.digest) return {};
  if (check?.missing) return { missing: true };
  if (here && check?.digest === here.digest && check.age_seconds < freshSeconds) return {};
  try {
    return await cooldown.run(target, tag, async () => {
      const offered = await lookUpDigest(upstreams, target, tag);
      if (here && offered === here.digest) {
        await app.db.read((tx) => noteChecked(tx, id, tag, here.digest));
        return {};
      }
      const fetched = await fetchManifest(upstreams, repository, target, offered ?? tag, tag);
      return fetched ? {} : forgetTag(upstreams, repository, tag);
    });
  } catch (error) {
    if (!(error instanceof UpstreamUnavailable) || !here) throw error;
    cooldown.logOnce(target, error);
    return { warning: `${error.message.replaceAll('"', "'")}; this is the copy from before` };
  }
}

/** The upstream no longer has the tag. */
async function forgetTag({ app }: Upstreams, repository: RepositoryRow, tag: string): Promise<TagCheck> {
  await app.db.write(async (tx) => {
    if ((await lockTag(tx, repository.id, tag))?.fetched) await removeTag(tx, app.caches, repository, tag);
    await noteMissing(tx, repository.id, tag, missingSeconds);
  });
  return { missing: true };
}

/** False: the upstream answered 404. */
function hasManifest(answer: GuardResponse, { host, path }: Target): boolean {
  if (answer.status === 200) return true;
  answer.cancel();
  if (answer.status === 404) return false;
  if (answer.status === 401 || answer.status === 403)
    throw new RegistryError(
      'DENIED',
      `the upstream ${host} does not let this registry pull ${path}; set an upstream credential for ${host} that may`,
    );
  throw new UpstreamUnavailable(`the upstream ${host} answered ${answer.status} for ${path}'s manifest`, { affectsOneItem: true });
}

/**
 * The digest by HEAD. Undefined: a GET is needed. Some upstreams refuse HEAD with 403, 404, 405 or 501, or redirect it to an address signed
 * for GET.
 */
async function lookUpDigest({ client }: Upstreams, target: Target, reference: string): Promise<string | undefined> {
  const answer = await client.request(target, { method: 'HEAD', resource: `manifests/${reference}`, headers: { accept } });
  answer.cancel();
  const digest = answer.headers['docker-content-digest'];
  return answer.status === 200 && typeof digest === 'string' && isDigest(digest) ? digest : undefined;
}

/** An invalid manifest is the upstream's error, not the caller's. */
function readManifest({ host, path }: Target, reference: string, body: Buffer, answer: GuardResponse): Manifest {
  try {
    return parseManifest(body, answer.headers['content-type']);
  } catch (error) {
    if (!(error instanceof ManifestInvalid)) throw error;
    throw new UpstreamUnavailable(`what the upstream ${host} has as ${path}:${reference} is not taken: ${error.message}`, {
      affectsOneItem: true,
      cause: error,
    });
  }
}

/** Fetches and stores a manifest. False: the upstream has none. */
async function fetchManifest(
  { app, settings, client }: Upstreams,
  repository: RepositoryRow,
  target: Target,
  reference: string,
  tag: string | undefined,
): Promise<boolean> {
  const resource = `manifests/${reference}`;
  const answer = await client.request(target, {
    method: 'GET',
    resource,
    headers: { accept },
    maxBodyBytes: settings.maxManifestBytes,
  });
  if (!hasManifest(answer, target)) return false;
  const body = await answer.bytes().catch((error) => {
    throw new UpstreamUnavailable(`the upstream ${target.host} did not send the whole manifest ${target.path}:${reference}`, {
      affectsOneItem: true,
      cause: error,
    });
  });
  const digest = digestOf(body, isDigest(reference) ? algorithmOf(reference) : 'sha256');
  if (isDigest(reference) && digest !== reference)
    throw new UpstreamUnavailable(`the upstream ${target.host} sent a manifest with the digest ${digest} for ${target.path}@${reference}`, {
      affectsOneItem: true,
    });
  const parsed = readManifest(target, reference, body, answer);
  // Immutable tags protect pushed images; in a cache the upstream decides.
  const into = { ...repository, immutable_tags: [] };
  const tags = tag ? [tag] : [];
  const store = () =>
    app.db.write(async (tx) => {
      await storeManifest(tx, app.caches, { repository: into, digest, body, parsed, tags, by: 'cache', cached: true });
      // After storing: storeManifest reads the previous check to tell whether the tag is the cache's.
      if (tag) await noteChecked(tx, repository.id, tag, digest);
    });
  await withEviction(app, repository.registry_id, store, fillEvictsUnusedForSeconds);
  return true;
}
