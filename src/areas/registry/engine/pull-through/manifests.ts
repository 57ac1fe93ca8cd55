import type { App } from '../../../../kernel/app.ts';
import { settledSeconds, withRoom } from '../gc/evict.ts';
import { mediaTypes, parseManifest } from '../../rules/manifest.ts';
import { algorithmOf, isDigest } from '../../rules/names.ts';
import { settingsOf } from '../settings.ts';
import { lockTag, manifestByDigest, manifestByTag } from '../../store/manifests.ts';
import { removeTag } from '../../store/removal.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import { lastCheck, noteChecked, noteMissing } from '../../store/upstreams.ts';
import { topics } from '../../rules/topics.ts';
import { OciError } from '../../planes/oci/errors.ts';
import { digestOf, storeManifest } from '../push/store-manifest.ts';
import type { Away } from '../../clients/upstream/away.ts';
import { type Target, UpstreamAway, type UpstreamClient } from '../../clients/upstream/client.ts';
import { upstreamMetricsOf } from '../upstream-metrics.ts';

// A tag is asked for upstream by HEAD, which Docker Hub does not count, at most once a minute for the whole installation; a digest never
// changes, so it is asked for once. An upstream that fails or limits us is left alone for a while, and what is here is served with a word.

/** `missing`: the upstream says that there is no such thing. */
export type Freshness = { warning?: string; missing?: true };
export type FreshManifest = (repository: RepositoryRow, target: Target, reference: string) => Promise<Freshness>;

const freshSeconds = 60;
const missingSeconds = 30;
const accept = Object.values(mediaTypes).join(', ');

export function makeManifestFetcher(app: App, client: UpstreamClient, away: Away): FreshManifest {
  const known = app.caches.make<Freshness>({ max: 50_000, ttlMs: freshSeconds * 1000 });

  const count = ({ host }: Target, result: string) => upstreamMetricsOf(app).manifests.inc({ upstream: host, result });

  const refused = (target: Target): never => {
    throw new OciError(
      'DENIED',
      `the upstream ${target.host} does not let this registry pull ${target.path}; set an upstream credential for ${target.host} that may`,
    );
  };

  /** What the upstream has under this reference; undefined for nothing. */
  const look = async (target: Target, reference: string): Promise<{ digest: string | undefined } | undefined> => {
    const answer = await client.ask(target, { method: 'HEAD', what: `manifests/${reference}`, headers: { accept } });
    answer.cancel();
    if (answer.status === 404) return undefined;
    if (answer.status === 401 || answer.status === 403) return refused(target);
    if (answer.status !== 200) throw new UpstreamAway(`the upstream ${target.host} answered ${answer.status} for a manifest`);
    const digest = answer.headers['docker-content-digest'];
    return { digest: typeof digest === 'string' && isDigest(digest) ? digest : undefined };
  };

  const fetch = async (repository: RepositoryRow, target: Target, reference: string, tag: string | undefined): Promise<boolean> => {
    const maxBodyBytes = settingsOf(app).maxManifestBytes;
    const answer = await client.ask(target, { method: 'GET', what: `manifests/${reference}`, headers: { accept }, maxBodyBytes });
    if (answer.status !== 200) {
      answer.cancel();
      if (answer.status === 404) return false;
      if (answer.status === 401 || answer.status === 403) return refused(target);
      throw new UpstreamAway(`the upstream ${target.host} answered ${answer.status} for a manifest`);
    }
    const body = await answer.bytes().catch((error) => {
      throw new UpstreamAway(`the upstream ${target.host} did not send the whole manifest`, { cause: error });
    });
    const digest = digestOf(body, isDigest(reference) ? algorithmOf(reference) : 'sha256');
    if (isDigest(reference) && digest !== reference)
      throw new UpstreamAway(`the upstream ${target.host} sent a manifest with the digest ${digest} for ${reference}`);
    const parsed = parseManifest(body, answer.headers['content-type']);
    // The registry's own rule of immutable tags is for what is pushed: here the upstream decides.
    const cached = { ...repository, immutable_tags: [] };
    const store = () =>
      app.db.write(async (tx) => {
        await storeManifest(tx, app.caches, {
          repository: cached,
          digest,
          body,
          parsed,
          tags: tag ? [tag] : [],
          by: 'cache',
          cached: true,
        });
        if (tag) await noteChecked(tx, repository.id, tag, digest);
      });
    await withRoom(app, repository.registry_id, store, settledSeconds);
    return true;
  };

  const refreshTag = async (repository: RepositoryRow, target: Target, tag: string): Promise<Freshness> => {
    const { id } = repository;
    const [check, here] = await app.db.read(async (tx) => [await lastCheck(tx, id, tag), await manifestByTag(tx, id, tag)] as const);
    // Somebody pushed it while this was no cache: it stands for what they pushed, whatever the upstream has.
    if (here && !here.cached && check?.digest !== here.digest) return {};
    if (check?.missing) return { missing: true };
    if (here && check?.digest === here.digest && check.age_seconds < freshSeconds) return {};
    try {
      return await away.asking(target, async () => {
        const found = await look(target, tag);
        if (!found) return gone(repository, tag);
        if (here && found.digest === here.digest) {
          await app.db.read((tx) => noteChecked(tx, id, tag, here.digest));
          return {};
        }
        return (await fetch(repository, target, found.digest ?? tag, tag)) ? {} : gone(repository, tag);
      });
    } catch (error) {
      if (!(error instanceof UpstreamAway) || !here) throw error;
      away.say(target, error);
      return { warning: `${error.message.replaceAll('"', "'")}; this is the copy from before` };
    }
  };

  const gone = async ({ id, ...rest }: RepositoryRow, tag: string): Promise<Freshness> => {
    await app.db.write(async (tx) => {
      if ((await lockTag(tx, id, tag))?.fetched) await removeTag(tx, app.caches, { id, ...rest }, tag);
      await noteMissing(tx, id, tag, missingSeconds);
    });
    return { missing: true };
  };

  const haveDigest = async (repository: RepositoryRow, target: Target, digest: string): Promise<Freshness> => {
    if (await app.db.read((tx) => manifestByDigest(tx, repository.id, digest))) return {};
    return (await away.asking(target, () => fetch(repository, target, digest, undefined))) ? {} : { missing: true };
  };

  return async (repository, target, reference) => {
    const found = (await known.get(`${repository.id} ${reference}`, async () => {
      const byDigest = isDigest(reference);
      const value = await (byDigest ? haveDigest : refreshTag)(repository, target, reference);
      const ttlMs = value.warning ? 5_000 : value.missing ? missingSeconds * 1000 : freshSeconds * 1000;
      return { value, topics: [topics.repository(repository.id), ...(byDigest ? [] : [topics.tag(repository.id, reference)])], ttlMs };
    }))!;
    count(target, found.missing ? 'missing' : found.warning ? 'stale' : 'served');
    return found;
  };
}
