import type { Rights } from './generated/api.ts';

/** What an operation asks of its caller. The server decides; a page asks this table only to say beforehand why something is not allowed. */
export interface Guard {
  /** An atom of the catalog, `member` for any member, or `none`. */
  permission: string;
  /** The area that the organization must be enabled for. */
  entitlement?: string;
  /** What it shows, or changes: a `changed` of GET /events names these. */
  kinds?: string[];
  /** A caller who holds the permission on some resources only may ask too. */
  scoped?: boolean;
  /** A narrowed token may not. */
  personal?: boolean;
  /** Only a person who signed in may. */
  session?: boolean;
  /** A session must have proven itself a moment ago. */
  fresh?: boolean;
  /** It takes no personal token and no session: it is public, or it has a key of its own. */
  foreign?: boolean;
}

export type RefusalCode = 'not_entitled' | 'narrowed_token' | 'session_required' | 'reauthenticate' | 'forbidden';

/**
 * The code with which the server would refuse a caller of these rights before it looks at anything else. Undefined: the caller may ask. A
 * caller who holds a permission on some resources only is still refused on others.
 */
export function refusalCode(guard: Guard, rights: Rights): RefusalCode | undefined {
  const { permission, entitlement, scoped, personal, session, fresh } = guard;
  if (entitlement && !rights.entitlements.includes(entitlement)) return 'not_entitled';
  if (personal && rights.narrowed) return 'narrowed_token';
  if (session && !rights.session) return 'session_required';
  if (fresh && !rights.fresh) return 'reauthenticate';
  if (permission === 'member' || permission === 'none') return undefined;
  const held = rights.permissions[permission];
  return held === '*' || (held !== undefined && scoped) ? undefined : 'forbidden';
}
