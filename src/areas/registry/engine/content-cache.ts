import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../kernel/bounded-map.ts';
import { looksLikeDigest } from '../rules/names.ts';
import { topics } from '../rules/topics.ts';
import { otherSpelling } from '../rules/upstreams.ts';
import { type BlobRow, linkedBlob, touchLink } from '../store/blobs.ts';
import { bodyOf, type MetaRow, manifestByDigest, manifestByTag } from '../store/manifests.ts';
import { type RepositoryRow, repositoryByName } from '../store/repositories.ts';
import type { Engine } from './settings.ts';

const MiB = 1024 * 1024;

/**
 * Caches repositories, manifests and blob locations, so a repeated pull costs no SQL. Only existing rows are cached: a first push has
 * nothing to drop. A transaction that moves or deletes something drops its topic.
 */
export interface ContentCache {
  repository(registryId: string, name: string): Promise<RepositoryRow | undefined>;
  manifest(repository: RepositoryRow, reference: string): Promise<MetaRow | undefined>;
  body(repository: RepositoryRow, manifest: MetaRow): Promise<Buffer | undefined>;
  blob(repository: RepositoryRow, digest: string): Promise<BlobRow | undefined>;
  /** Synchronous lookups; undefined: not in memory, so the caller must use the asynchronous one. */
  inMemory: InMemoryContent;
  /** For an answer on which a client may base a push: touches the link, so that garbage collection leaves it for the delay. */
  touchBlob(repository: RepositoryRow, digest: string): Promise<BlobRow | undefined>;
  /** For a blob that is missing at its cached location: drops it in every process and reads the row again. */
  reloadBlob(repository: RepositoryRow, digest: string): Promise<BlobRow | undefined>;
}

interface InMemoryContent {
  repository(registryId: string, name: string): RepositoryRow | undefined;
  manifest(repository: RepositoryRow, reference: string): MetaRow | undefined;
  body(manifest: MetaRow): Buffer | undefined;
  blob(repository: RepositoryRow, digest: string): BlobRow | undefined;
}

export function makeContentCache({ app, settings }: Engine): ContentCache {
  const repositories = app.caches.make<RepositoryRow>({ max: 20_000 });
  const manifests = app.caches.make<MetaRow>({ max: 50_000 });
  const blobs = app.caches.make<BlobRow>({ max: 50_000 });
  // The body of a digest never changes, so bodies need a size limit but no invalidation. Access was checked before.
  const bodies = new LRUCache<string, Buffer>({ maxSize: 32 * MiB, sizeCalculation: (body) => body.length + 200 });
  const touched = new LRUCache<string, number>(boundedTo(50_000));

  const contentCache: ContentCache = {
    repository: (registryId, name) =>
      repositories.get(`${registryId}/${name}`, async () => {
        const value = await app.db.read((tx) => repositoryByName(tx, registryId, name, otherSpelling(app.config.registry_upstreams, name)));
        return value && { value, topics: [topics.repository(value.id), topics.registry(registryId)] };
      }),

    manifest: ({ id }, reference) =>
      manifests.get(`${id} ${reference}`, async () => {
        const byDigest = looksLikeDigest(reference);
        const value = await app.db.read((tx) => (byDigest ? manifestByDigest(tx, id, reference) : manifestByTag(tx, id, reference)));
        return value && { value, topics: [topics.repository(id), byDigest ? topics.manifest(id, reference) : topics.tag(id, reference)] };
      }),

    body: async ({ id }, { digest }) => {
      const known = bodies.get(digest);
      if (known) return known;
      const body = await app.db.read((tx) => bodyOf(tx, id, digest));
      if (body) bodies.set(digest, body);
      return body;
    },

    blob: ({ id }, digest) =>
      blobs.get(`${id} ${digest}`, async () => {
        const value = await app.db.read((tx) => linkedBlob(tx, id, digest));
        return value && { value, topics: [topics.repository(id), topics.blob(id, digest)] };
      }),

    inMemory: {
      repository: (registryId, name) => repositories.peek(`${registryId}/${name}`),
      manifest: ({ id }, reference) => manifests.peek(`${id} ${reference}`),
      body: ({ digest }) => bodies.get(digest),
      blob: ({ id }, digest) => blobs.peek(`${id} ${digest}`),
    },

    touchBlob: async (repository, digest) => {
      const blob = await contentCache.blob(repository, digest);
      if (!blob) return undefined;
      const key = `${repository.id} ${blob.id}`;
      // A touch protects a link for the delay of garbage collection. Renewing it after a tenth of that is early enough.
      const lastsMs = settings.gcDelaySeconds * 100;
      if (performance.now() - (touched.get(key) ?? Number.NEGATIVE_INFINITY) < lastsMs) return blob;
      if (!(await app.db.read((tx) => touchLink(tx, repository.id, blob.id)))) return undefined;
      touched.set(key, performance.now());
      return blob;
    },

    reloadBlob: async ({ id }, digest) => {
      await app.db.write((tx) => app.caches.drop(tx, topics.blob(id, digest)));
      return app.db.read((tx) => linkedBlob(tx, id, digest));
    },
  };
  return contentCache;
}
