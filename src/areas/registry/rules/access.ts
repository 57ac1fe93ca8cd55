/** The reach of a data-plane credential in one registry: a mode, and optionally a list of repository prefixes. */
export interface Reach {
  registryId: string;
  mode: 'pull' | 'readwrite';
  /** Empty: every repository. */
  prefixes: readonly string[];
}

export interface Access {
  keyId: string;
  org: string;
  label: string;
  registries: ReadonlyMap<string, Reach>;
  /** The scopes of a bearer token; undefined with Basic, which has the rights of the whole credential. */
  scopes: ReadonlyMap<string, ReadonlySet<Action>> | undefined;
  /** Aborted when the credential may have been revoked. */
  signal: AbortSignal;
  /** Loads the credential again without checking the bearer token's expiry: a long transfer outlives a short token. */
  reload?: () => Access | undefined | Promise<Access | undefined>;
}

export type Action = 'pull' | 'push' | 'delete';

/**
 * Whether a key's prefixes cover a repository. They match whole path segments: `team/app` is not `team/application`. A trailing slash means
 * children only.
 */
export const covers = (prefixes: readonly string[], repository: string): boolean =>
  prefixes.length === 0 ||
  prefixes.some((p) => (p.endsWith('/') ? repository.startsWith(p) : repository === p || repository.startsWith(`${p}/`)));

/** Whether the credential may do this in `<slug>/<repository>`. A bearer token also needs the scope. */
export function may(access: Access, slug: string, repository: string, action: Action): boolean {
  const reach = access.registries.get(slug);
  if (!reach || !covers(reach.prefixes, repository)) return false;
  if (action !== 'pull' && reach.mode !== 'readwrite') return false;
  return access.scopes?.get(`${slug}/${repository}`)?.has(action) ?? access.scopes === undefined;
}
