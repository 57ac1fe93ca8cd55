import type { Readable } from 'node:stream';
import type { Away } from '../../clients/upstream/away.ts';
import type { UpstreamClient } from '../../clients/upstream/client.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import type { RegistryMetrics } from '../metrics.ts';
import type { Engine } from '../settings.ts';

/** The way to the upstreams, made once: logins, tokens and who is away are remembered in it. */
export interface Upstreams extends Engine {
  client: UpstreamClient;
  away: Away;
  metrics: RegistryMetrics;
  /** Whose files what is being fetched is in. */
  node: () => Promise<string>;
}

/** Bytes that are still on their way from an upstream, or have just arrived. */
export interface ReadableSource {
  /** Of the whole blob. */
  size: number;
  /** Bytes from `offset` on, at most `length` of them; may be called once. */
  open(range?: { offset: number; length: number }): Promise<Readable>;
}

export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  artifactType?: string;
}

/** `next`: the query of the slice after this one, in the upstream's own words. */
export interface TagSlice {
  tags: string[];
  next?: URLSearchParams;
}
export interface ReferrerSlice {
  manifests: Descriptor[];
  next?: URLSearchParams;
}

/** The upstream cannot say: what is here must do, with this word to the client. */
export interface Unheard {
  warning: string;
}

/** Repositories below `<slug>/<catalog host>/…` that are filled from an upstream when somebody pulls. */
export interface PullThrough {
  /** The catalog host that a repository's name (without the slug) begins with; undefined for an ordinary one. */
  hostOf(repositoryName: string): string | undefined;
  /** The repository's row, made when the upstream is known and the row is not there yet; throws a RegistryError otherwise. */
  repository(slug: string, registryId: string, name: string): Promise<RepositoryRow>;
  /** After this the local tables hold what the upstream has, or what is left of it; throws a RegistryError when there is nothing. */
  manifest(repository: RepositoryRow, reference: string): Promise<{ warning?: string } | undefined>;
  /** Links a blob that an image of the repository names and another repository of the registry has, from which the caller may pull.
   *  False: there is none, and the upstream must be asked. */
  linkHere(repository: RepositoryRow, digest: string, mayPull: (repository: string) => boolean): Promise<boolean>;
  /** For a blob that the repository does not link yet. Undefined: the upstream has none either. After a whole fill it is linked. */
  blob(repository: RepositoryRow, digest: string): Promise<ReadableSource | undefined>;
  /** How large such a blob is, without fetching it. Undefined: the upstream has none either. */
  blobSize(repository: RepositoryRow, digest: string): Promise<number | undefined>;
  /** What the upstream lists; undefined when it knows no such repository, or is no longer in the catalog. */
  tags(repository: RepositoryRow, query: URLSearchParams): Promise<TagSlice | Unheard | undefined>;
  referrers(repository: RepositoryRow, digest: string, query: URLSearchParams): Promise<ReferrerSlice | Unheard | undefined>;
}
