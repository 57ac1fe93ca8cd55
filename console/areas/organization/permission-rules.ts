// Which permissions a choice holds. Pure.

const tiers = ['read', 'write', 'admin'];

/** A tier brings the lower ones of its resource with it: the tier that brings this permission, if a higher one is chosen. */
export function broughtBy(permission: string, chosen: ReadonlySet<string>): string | undefined {
  const [resource, tier] = split(permission);
  return tiers.slice(tiers.indexOf(tier) + 1).find((higher) => chosen.has(`${resource}.${higher}`));
}

export const isHeld = (permission: string, chosen: ReadonlySet<string>): boolean =>
  chosen.has(permission) || broughtBy(permission, chosen) !== undefined;

/** With the lower tiers of its resource, of which not every resource has all. */
function withLower(permission: string): string[] {
  const [resource, tier] = split(permission);
  return tiers.slice(0, tiers.indexOf(tier) + 1).map((lower) => `${resource}.${lower}`);
}

export const serviceOf = (permission: string): string => permission.split('.')[0]!;

function split(permission: string): [resource: string, tier: string] {
  const at = permission.lastIndexOf('.');
  return [permission.slice(0, at), permission.slice(at + 1)];
}

export interface Entry {
  role: string;
  /** Empty: not narrowed. */
  resourceIds: readonly string[];
}

/** `*`, or on how many things. */
export type Reach = '*' | ReadonlySet<string>;

interface RoleLike {
  id: string;
  permissions: readonly string[];
}

/**
 * What a token may do: what its owner holds now, as far as its scope names it. Without entries it is all that the owner holds. The server judges
 * each request anew; this only shows beforehand what it will judge by.
 */
export function reachOfToken(
  entries: readonly Entry[],
  roles: readonly RoleLike[],
  held: Readonly<Record<string, '*' | readonly string[]>>,
): Map<string, Reach> {
  const own = new Map(
    Object.entries(held).map(([permission, where]) => [permission, where === '*' ? '*' : new Set(where)] as [string, Reach]),
  );
  if (!entries.length) return own;
  const named = new Map<string, Reach>();
  for (const { role, resourceIds } of entries)
    for (const permission of (roles.find(({ id }) => id === role)?.permissions ?? []).flatMap(withLower)) {
      const before = named.get(permission);
      const where: Reach = resourceIds.length ? new Set([...(before instanceof Set ? before : []), ...resourceIds]) : '*';
      named.set(permission, before === '*' ? '*' : where);
    }
  const reach = new Map<string, Reach>();
  for (const [permission, where] of named) {
    const limit = own.get(permission);
    if (limit === undefined) continue;
    const both = limit === '*' ? where : where === '*' ? limit : new Set([...where].filter((id) => limit.has(id)));
    if (both === '*' || both.size) reach.set(permission, both);
  }
  return reach;
}
