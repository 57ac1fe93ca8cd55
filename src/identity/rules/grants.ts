import {
  type BuiltinRole,
  builtinRoles,
  implied,
  type Permission,
  permissions,
  reservedPermissions,
  services,
} from '../../../contract/permissions.ts';

/** Where an atom is held: on everything of the organization, or on these resources only. */
export type Reach = '*' | ReadonlySet<string>;

/** What a subject may do: each atom, and where. */
export type Grants = ReadonlyMap<Permission, Reach>;

/** A role, perhaps narrowed: an entry of a token's scope, or a grant. An empty list means not narrowed. */
export interface RoleUse {
  role: string;
  resourceIds: string[];
}

const builtin = new Map<string, BuiltinRole>(builtinRoles.map((r) => [r.id, r]));
const known = new Set<string>(permissions);

export const builtinRole = (id: string): BuiltinRole | undefined => builtin.get(id);
export const isPermission = (text: string): text is Permission => known.has(text);

/** Custom roles by id: their atoms. */
export type CustomRoles = Readonly<Record<string, readonly string[]>>;

export const atomsOf = (roles: readonly { id: string; permissions: string[] }[]): CustomRoles =>
  Object.fromEntries(roles.map((r) => [r.id, r.permissions]));

/** A role may be narrowed to ids when every atom of it belongs to a service that has ids. */
export const isScopable = (permissions: readonly string[]): boolean =>
  permissions.length > 0 && permissions.every((p) => services[p.split('.')[0] as keyof typeof services]?.scopable);

/** Atoms that a custom role can give: those that this release knows, and not those of owners and admins alone. */
const canBeGiven = (atom: string): atom is Permission => isPermission(atom) && !reservedPermissions.has(atom);

/** A dead role grants nothing, nor does an atom that no custom role can give: an older release may have let it in. */
export const permissionsOf = (role: string, custom: CustomRoles): Permission[] =>
  builtin.get(role)?.permissions ?? (Object.hasOwn(custom, role) ? custom[role]!.filter(canBeGiven).flatMap(implied) : []);

/** The services that a role's atoms belong to: it can be narrowed to resources of these. */
export const servicesOf = (permissions: readonly string[]): ReadonlySet<string> => new Set(permissions.map((p) => p.split('.')[0]!));

export function grantsOf(uses: readonly RoleUse[], custom: CustomRoles): Grants {
  const grants = new Map<Permission, Reach>();
  for (const { role, resourceIds } of uses) {
    for (const permission of permissionsOf(role, custom)) {
      const held = grants.get(permission);
      if (held === '*') continue;
      grants.set(permission, resourceIds.length ? new Set([...(held ?? []), ...resourceIds]) : '*');
    }
  }
  return grants;
}

const both = (a: Reach, b: Reach): Reach => (a === '*' ? b : b === '*' ? a : new Set([...a].filter((id) => b.has(id))));

export function intersect(a: Grants, b: Grants): Grants {
  const grants = new Map<Permission, Reach>();
  for (const [permission, held] of a) {
    const other = b.get(permission);
    if (other === undefined) continue;
    const shared = both(held, other);
    if (shared === '*' || shared.size) grants.set(permission, shared);
  }
  return grants;
}

/** Whether `all` holds everything that `part` holds. */
export function covers(all: Grants, part: Grants): boolean {
  for (const [permission, wanted] of part) {
    const held = all.get(permission);
    if (held === undefined) return false;
    if (held === '*') continue;
    if (wanted === '*') return false;
    for (const id of wanted) if (!held.has(id)) return false;
  }
  return true;
}

/** owner ∩ scope ∩ every ceiling. An empty scope does not narrow. */
export const narrow = (owner: Grants, scopes: readonly (readonly RoleUse[])[], custom: CustomRoles): Grants =>
  scopes.filter((s) => s.length).reduce((held, scope) => intersect(held, grantsOf(scope, custom)), owner);
