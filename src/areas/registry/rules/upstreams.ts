export interface Upstream {
  host: string;
  endpoint: string;
}

/** The upstreams that the operator has listed. */
export type Catalog = readonly Upstream[];

export const upstreamAt = (catalog: Catalog, host: string): Upstream | undefined => catalog.find((u) => u.host === host);

/** The catalog host that a repository's name begins with; undefined for an ordinary repository. */
export function hostOf(catalog: Catalog, repository: string): string | undefined {
  const slash = repository.indexOf('/');
  return slash < 0 ? undefined : upstreamAt(catalog, repository.slice(0, slash))?.host;
}

/** The repository's path at the upstream. Official images of Docker Hub have a `library/` part that clients omit. */
export function upstreamPath(host: string, repository: string): string {
  const path = repository.slice(host.length + 1);
  return host === 'docker.io' && !path.includes('/') ? `library/${path}` : path;
}

/** The other name of an official Docker Hub image, `docker.io/alpine` or `docker.io/library/alpine`. Null: it has only one name. */
export function otherSpelling(catalog: Catalog, repository: string): string | null {
  if (hostOf(catalog, repository) !== 'docker.io') return null;
  const [, library, name] = /^docker\.io\/(library\/)?([^/]+)$/.exec(repository) ?? [];
  return name === undefined ? null : library ? `docker.io/${name}` : `docker.io/library/${name}`;
}

/** The name under which a cached repository is created. */
export const fullSpelling = (host: string, repository: string) => `${host}/${upstreamPath(host, repository)}`;
