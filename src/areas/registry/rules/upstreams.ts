export interface Upstream {
  host: string;
  endpoint: string;
}

/** The upstreams that the operator has listed. */
export type Catalog = readonly Upstream[];

export const upstreamAt = (catalog: Catalog, host: string): Upstream | undefined => catalog.find((u) => u.host === host);

/** The catalog host that a repository's name begins with; undefined for an ordinary one. */
export function hostOf(catalog: Catalog, repository: string): string | undefined {
  const slash = repository.indexOf('/');
  return slash < 0 ? undefined : upstreamAt(catalog, repository.slice(0, slash))?.host;
}

/** What the upstream calls it. Docker Hub's own images have a part that nobody writes. */
export function upstreamPath(host: string, repository: string): string {
  const path = repository.slice(host.length + 1);
  return host === 'docker.io' && !path.includes('/') ? `library/${path}` : path;
}

/** Docker Hub's own images have two names, `docker.io/alpine` and `docker.io/library/alpine`: the other one of a cached repository.
 *  Null: it has only one. */
export function otherSpelling(catalog: Catalog, repository: string): string | null {
  if (hostOf(catalog, repository) !== 'docker.io') return null;
  const [, library, name] = /^docker\.io\/(library\/)?([^/]+)$/.exec(repository) ?? [];
  return name === undefined ? null : library ? `docker.io/${name}` : `docker.io/library/${name}`;
}

/** The one under which a cached repository is made. */
export const fullSpelling = (host: string, repository: string) => `${host}/${upstreamPath(host, repository)}`;
