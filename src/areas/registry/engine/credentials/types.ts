import type { Action } from '../../rules/access.ts';

/**
 * The content of a bearer token: the credential it was issued for, and the scopes. The credential's rights are checked on every request.
 */
export interface Grant {
  /** The credential's hash; undefined for a login without any registry (see engine/oidc.ts). */
  hash: Buffer | undefined;
  keyId: string;
  /** Empty for a login without any registry, and for tokens of an older release. */
  org: string;
  scopes: ReadonlyMap<string, ReadonlySet<Action>>;
}
