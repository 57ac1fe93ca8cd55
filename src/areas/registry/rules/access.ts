/** What a data-plane credential may reach: its registries by slug, each with a mode and perhaps some repositories only. */
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
  /** What a bearer token was issued for; undefined with Basic, which carries the whole credential. */
  scopes: ReadonlyMap<string, ReadonlySet<Action>> | undefined;
  /** Aborted when the credential may have been revoked. */
  signal: AbortSignal;
  /** Looks the credential up anew without judging a bearer token's own end: a long transfer outlives a short token. */
  again?: () => Access | undefined | Promise<Access | undefined>;
}

export type Action = 'pull' | 'push' | 'delete';

/** What a key's prefix covers: whole path segments, so `team/app` is not `team/application`. A trailing slash means children only. */
export const covers = (prefixes: readonly string[], repository: string): boolean =>
  prefixes.length === 0 ||
  prefixes.some((p) => (p.endsWith('/') ? repository.startsWith(p) : repository === p || repository.startsWith(`${p}/`)));

/** Whether the credential may do this to `<slug>/<repository>`; a bearer token also needs the scope it was issued for. */
export function may(access: Access, slug: string, repository: string, action: Action): boolean {
  const reach = access.registries.get(slug);
  if (!reach || !covers(reach.prefixes, repository)) return false;
  if (action !== 'pull' && reach.mode !== 'readwrite') return false;
  return access.scopes?.get(`${slug}/${repository}`)?.has(action) ?? access.scopes === undefined;
}
