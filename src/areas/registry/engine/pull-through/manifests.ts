import type { GuardResponse } from '../../../../kernel/guard/index.ts';
import type { Target } from '../../clients/upstream/client.ts';
import { RegistryError, UpstreamAway } from '../../rules/errors.ts';
import { type Manifest, ManifestInvalid, mediaTypes, parseManifest } from '../../rules/manifest.ts';
import { algorithmOf, isDigest } from '../../rules/names.ts';
import { topics } from '../../rules/topics.ts';
import { lockTag, manifestByDigest, manifestByTag } from '../../store/manifests.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { lastCheck, noteChecked, noteMissing } from '../../store/upstreams.ts';
import { settledSeconds, withRoom } from '../gc/evict.ts';
import { digestOf, storeManifest } from '../push/store-manifest.ts';
import { removeTag } from '../removal.ts';
import type { Upstreams } from './types.ts';

// A tag is asked for upstream by HEAD, which Docker Hub does not count, at most once a minute for the whole installation; a digest never
// changes, so it is asked for once. An upstream that fails or limits us is left alone for a while, and what is here is served with a word.

/** `missing`: the upstream says that there is no such thing. */
export type Freshness = { warning?: string; missing?: true };
export type FreshManifest = (repository: RepositoryRow, target: Target, reference: string) => Promise<Freshness>;

const freshSeconds = 60;
const missingSeconds = 30;
const accept = Object.values(mediaTypes).join(', ');

export function makeManifestFetcher(upstreams: Upstreams): FreshManifest {
  const known = upstreams.app.caches.make<Freshness>({ max: 50_000, ttlMs: freshSeconds * 1000 });

  return async (repository, target, reference) => {
    const found = (await known.get(`${repository.id} ${reference}`, async () => {
      const byDigest = isDigest(reference);
      const value = await (byDigest ? haveDigest : refreshTag)(upstreams, repository, target, reference);
      const ttlMs = value.warning ? 5_000 : value.missing ? missingSeconds * 1000 : freshSeconds * 1000;
      return { value, topics: [topics.repository(repository.id), ...(byDigest ? [] : [topics.tag(repository.id, reference)])], ttlMs };
    }))!;
    const result = found.missing ? 'missing' : found.warning ? 'stale' : 'served';
    upstreams.metrics.cacheManifests.inc({ upstream: target.host, result });
    return found;
  };
}

async function haveDigest(upstreams: Upstreams, repository: RepositoryRow, target: Target, digest: string): Promise<Freshness> {
  const { app, away } = upstreams;
  if (await app.db.read((tx) => manifestByDigest(tx, repository.id, digest))) return {};
  return (await away.asking(target, digest, () => fetchManifest(upstreams, repository, target, digest, undefined)))
    ? {}
    : { missing: true };
}

async function refreshTag(upstreams: Upstreams, repository: RepositoryRow, target: Target, tag: string): Promise<Freshness> {
  const { app, away } = upstreams;
  const { id } = repository;
  const [check, here] = await app.db.read(async (tx) => [await lastCheck(tx, id, tag), await manifestByTag(tx, id, tag)] as const);
  // Somebody pushed it while this was no cache: it stands for what they pushed, whatever the upstream has.
  if (here && !here.cached && check?.digest !== here.digest) return {};
  if (check?.missing) return { missing: true };
  if (here && check?.digest === here.digest && check.age_seconds < freshSeconds) return {};
  try {
    return await away.asking(target, tag, async () => {
      const offered = await lookUpDigest(upstreams, target, tag);
      if (here && offered === here.digest) {
        await app.db.read((tx) => noteChecked(tx, id, tag, here.digest));
        return {};
      }
      const fetched = await fetchManifest(upstreams, repository, target, offered ?? tag, tag);
      return fetched ? {} : forgetTag(upstreams, repository, tag);
    });
  } catch (error) {
    if (!(error instanceof UpstreamAway) || !here) throw error;
    away.say(target, error);
    return { warning: `${error.message.replaceAll('"', "'")}; this is the copy from before` };
  }
}

/** The upstream has the tag no more. */
async function forgetTag({ app }: Upstreams, repository: RepositoryRow, tag: string): Promise<Freshness> {
  await app.db.write(async (tx) => {
    if ((await lockTag(tx, repository.id, tag))?.fetched) await removeTag(tx, app.caches, repository, tag);
    await noteMissing(tx, repository.id, tag, missingSeconds);
  });
  return { missing: true };
}

/** False for an answer that says that there is no such manifest. */
function hasManifest(answer: GuardResponse, { host, path }: Target): boolean {
  if (answer.status === 200) return true;
  answer.cancel();
  if (answer.status === 404) return false;
  if (answer.status === 401 || answer.status === 403)
    throw new RegistryError(
      'DENIED',
      `the upstream ${host} does not let this registry pull ${path}; set an upstream credential for ${host} that may`,
    );
  throw new UpstreamAway(`the upstream ${host} answered ${answer.status} for ${path}'s manifest`, { isAlone: true });
}

/** The digest that a HEAD of this reference tells. Undefined: a GET must tell. Some upstreams refuse HEAD, with 403, 404, 405 or 501, or
 *  redirect it to an address that is signed for GET alone. */
async function lookUpDigest({ client }: Upstreams, target: Target, reference: string): Promise<string | undefined> {
  const answer = await client.ask(target, { method: 'HEAD', what: `manifests/${reference}`, headers: { accept } });
  answer.cancel();
  const digest = answer.headers['docker-content-digest'];
  return answer.status === 200 && typeof digest === 'string' && isDigest(digest) ? digest : undefined;
}

/** What is none, or none that we take, is the upstream's mistake and not the caller's. */
function readManifest({ host, path }: Target, reference: string, body: Buffer, answer: GuardResponse): Manifest {
  try {
    return parseManifest(body, answer.headers['content-type']);
  } catch (error) {
    if (!(error instanceof ManifestInvalid)) throw error;
    throw new UpstreamAway(`what the upstream ${host} has as ${path}:${reference} is not taken: ${error.message}`, {
      isAlone: true,
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
  const what = `manifests/${reference}`;
  const answer = await client.ask(target, { method: 'GET', what, headers: { accept }, maxBodyBytes: settings.maxManifestBytes });
  if (!hasManifest(answer, target)) return false;
  const body = await answer.bytes().catch((error) => {
    throw new UpstreamAway(`the upstream ${target.host} did not send the whole manifest ${target.path}:${reference}`, {
      isAlone: true,
      cause: error,
    });
  });
  const digest = digestOf(body, isDigest(reference) ? algorithmOf(reference) : 'sha256');
  if (isDigest(reference) && digest !== reference)
    throw new UpstreamAway(`the upstream ${target.host} sent a manifest with the digest ${digest} for ${target.path}@${reference}`, {
      isAlone: true,
    });
  const parsed = readManifest(target, reference, body, answer);
  // The registry's own rule of immutable tags is for what is pushed: here the upstream decides.
  const into = { ...repository, immutable_tags: [] };
  const tags = tag ? [tag] : [];
  const store = () =>
    app.db.write(async (tx) => {
      await storeManifest(tx, app.caches, { repository: into, digest, body, parsed, tags, by: 'cache', cached: true });
      // Afterwards: whether the tag was the cache's shows in what was checked before.
      if (tag) await noteChecked(tx, repository.id, tag, digest);
    });
  await withRoom(app, repository.registry_id, store, settledSeconds);
  return true;
}
