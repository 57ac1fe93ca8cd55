import type { Permission, Tier } from './permissions.ts';

type About<P> = P extends `${infer Service}.${infer Resource}.${Tier}` ? `${Service}.${Resource}` : never;

/** What a hint of GET /events names: what a permission is about, and two things that members have without one. */
export type Kind = About<Permission> | 'tokens.token' | 'oncall.paging';

/** What a GET shows, and what any other operation changes: what its permission is about, unless the contract says otherwise. */
export function kindsOf({ kinds, permission }: { kinds?: readonly Kind[]; permission: Permission | 'member' | 'none' }): readonly Kind[] {
  if (kinds) return kinds;
  return permission === 'member' || permission === 'none' ? [] : [permission.slice(0, permission.lastIndexOf('.')) as Kind];
}
