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

/** What is where, remembered: a pull that was asked for before costs no SQL. Only what exists is remembered, so a first push has
 *  nothing to drop; whoever moves or deletes something drops its topic in the same transaction. */
export interface Places {
  repository(registryId: string, name: string): Promise<RepositoryRow | undefined>;
  manifest(repository: RepositoryRow, reference: string): Promise<MetaRow | undefined>;
  body(repository: RepositoryRow, manifest: MetaRow): Promise<Buffer | undefined>;
  blob(repository: RepositoryRow, digest: string): Promise<BlobRow | undefined>;
  /** What can be told at once: undefined for what has to be looked up. */
  known: Known;
  /** For an answer that somebody may push on: the link is sure to stay for a while. */
  relyOn(repository: RepositoryRow, digest: string): Promise<BlobRow | undefined>;
  /** For a blob that turned out to be elsewhere or gone: every process forgets it, and it is asked for anew. */
  blobAnew(repository: RepositoryRow, digest: string): Promise<BlobRow | undefined>;
}

interface Known {
  repository(registryId: string, name: string): RepositoryRow | undefined;
  manifest(repository: RepositoryRow, reference: string): MetaRow | undefined;
  body(manifest: MetaRow): Buffer | undefined;
  blob(repository: RepositoryRow, digest: string): BlobRow | undefined;
}

export function makePlaces({ app, settings }: Engine): Places {
  const repositories = app.caches.make<RepositoryRow>({ max: 20_000 });
  const manifests = app.caches.make<MetaRow>({ max: 50_000 });
  const blobs = app.caches.make<BlobRow>({ max: 50_000 });
  // A digest has one body for ever, so bodies need no dropping, only a bound; who may see one was asked before.
  const bodies = new LRUCache<string, Buffer>({ maxSize: 32 * MiB, sizeCalculation: (body) => body.length + 200 });
  const touched = new LRUCache<string, number>(boundedTo(50_000));

  const places: Places = {
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

    known: {
      repository: (registryId, name) => repositories.peek(`${registryId}/${name}`),
      manifest: ({ id }, reference) => manifests.peek(`${id} ${reference}`),
      body: ({ digest }) => bodies.get(digest),
      blob: ({ id }, digest) => blobs.peek(`${id} ${digest}`),
    },

    relyOn: async (repository, digest) => {
      const blob = await places.blob(repository, digest);
      if (!blob) return undefined;
      const key = `${repository.id} ${blob.id}`;
      // A touch lasts as long as the delay of garbage collection; renewing it at a tenth of that is early enough.
      const lastsMs = settings.gcDelaySeconds * 100;
      if (performance.now() - (touched.get(key) ?? Number.NEGATIVE_INFINITY) < lastsMs) return blob;
      if (!(await app.db.read((tx) => touchLink(tx, repository.id, blob.id)))) return undefined;
      touched.set(key, performance.now());
      return blob;
    },

    blobAnew: async ({ id }, digest) => {
      await app.db.write((tx) => app.caches.drop(tx, topics.blob(id, digest)));
      return app.db.read((tx) => linkedBlob(tx, id, digest));
    },
  };
  return places;
}
