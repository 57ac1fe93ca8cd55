import type { Readable } from 'node:stream';
import type { UpstreamClient } from '../../clients/upstream/client.ts';
import type { UpstreamCooldown } from '../../clients/upstream/cooldown.ts';
import type { RepositoryRow } from '../../store/repositories.ts';
import type { RegistryMetrics } from '../metrics.ts';
import type { Engine } from '../settings.ts';

/** Shared access to the upstreams: client, logins, tokens and cooldowns. Made once per process. */
export interface Upstreams extends Engine {
  client: UpstreamClient;
  cooldown: UpstreamCooldown;
  metrics: RegistryMetrics;
  /** The node whose disk holds the bytes of running fetches. */
  node: () => Promise<string>;
}

/** A blob that is being fetched, or was just fetched. */
export interface ReadableSource {
  /** Size of the whole blob in bytes. */
  size: number;
  /** At most `length` bytes from `offset`; may be called once. */
  open(range?: { offset: number; length: number }): Promise<Readable>;
}

export interface Descriptor {
  mediaType: string;
  digest: string;
  size: number;
  artifactType?: string;
}

/** `next`: the query of the next page, as the upstream wrote it. */
export interface TagPage {
  tags: string[];
  next?: URLSearchParams;
}
export interface ReferrerPage {
  manifests: Descriptor[];
  next?: URLSearchParams;
}

/** The upstream gave no list: the local content is listed, with this warning to the client. */
export interface UpstreamWarning {
  warning: string;
}

/** Repositories below `<slug>/<catalog host>/…` that are filled from an upstream when a client pulls. */
export interface PullThrough {
  /** The catalog host that a repository's name (without the slug) begins with; undefined for an ordinary repository. */
  hostOf(repositoryName: string): string | undefined;
  /** The repository's row, created if the upstream is in the catalog; throws a RegistryError otherwise. */
  repository(slug: string, registryId: string, name: string): Promise<RepositoryRow>;
  /** Afterwards the tables hold the upstream's manifest, or the last known copy. Throws a RegistryError when there is none. */
  manifest(repository: RepositoryRow, reference: string): Promise<{ warning?: string } | undefined>;
  /**
   * Links a blob that an image of the repository names, if another repository of the registry has it and the caller may pull there. False:
   * the upstream must be asked.
   */
  linkHeldBlob(repository: RepositoryRow, digest: string, mayPull: (repository: string) => boolean): Promise<boolean>;
  /** A blob that the repository does not link yet. Undefined: the upstream does not have it. It is linked after a complete fetch. */
  blob(repository: RepositoryRow, digest: string): Promise<ReadableSource | undefined>;
  /** The size of such a blob, without fetching it. Undefined: the upstream does not have it. */
  blobSize(repository: RepositoryRow, digest: string): Promise<number | undefined>;
  /** The upstream's list. Undefined: unknown repository, or the upstream is no longer in the catalog. */
  tags(repository: RepositoryRow, query: URLSearchParams): Promise<TagPage | UpstreamWarning | undefined>;
  referrers(repository: RepositoryRow, digest: string, query: URLSearchParams): Promise<ReferrerPage | UpstreamWarning | undefined>;
}
