import Type from 'typebox';
import { services } from '../../../contract/permissions.ts';
import type { App, Resource } from '../../kernel/app.ts';
import { rows, type Tx } from '../../kernel/db.ts';
import { forbidden, invalid } from '../../kernel/errors.ts';
import { builtinRole, type CustomRoles, covers, type Grants, grantsOf, type RoleUse } from '../rules/grants.ts';

const CustomRoleRow = Type.Object({
  id: Type.String(),
  name: Type.String(),
  description: Type.String(),
  permissions: Type.Array(Type.String()),
});

export const customRoles = (tx: Tx, org: string) => rows(tx, CustomRoleRow)`
  select id, name, description, permissions from identity.custom_role where org_id = ${org} order by id desc`;

export const atomsOf = (roles: { id: string; permissions: string[] }[]): CustomRoles =>
  Object.fromEntries(roles.map((r) => [r.id, r.permissions]));

/** A role may be narrowed to ids when every atom of it belongs to a service that has ids. */
export const isScopable = (permissions: readonly string[]): boolean =>
  permissions.length > 0 && permissions.every((p) => services[p.split('.')[0] as keyof typeof services]?.scopable);

/** What scopes can name: resources that the caller can read. */
export async function visibleResources(tx: Tx, app: App, org: string, grants: Grants): Promise<Resource[]> {
  const found: Resource[] = [];
  for (const source of app.ports.resources) {
    const visible = grants.get(source.permission);
    if (visible === undefined) continue;
    for (const { id, name } of await source.list(tx, org, visible)) found.push({ service: source.service, id, name });
  }
  return found;
}

interface Caller {
  app: App;
  org: string;
  principal: { grants: Grants };
}

type Wanted = { role: string; resourceIds?: string[] };

/** Unknown roles and resources are 400; more than the caller holds is 403. */
export async function checkRoleUses(tx: Tx, caller: Caller, wanted: readonly Wanted[]): Promise<RoleUse[]> {
  const custom = await customRoles(tx, caller.org);
  const uses = wanted.map(({ role, resourceIds = [] }) => ({ role, resourceIds: [...new Set(resourceIds)] }));
  for (const { role, resourceIds } of uses) {
    const known = builtinRole(role) ?? custom.find((r) => r.id === role);
    if (!known) return invalid(`${role} is not a role; GET /api/v1/iam/roles lists them`);
    if (resourceIds.length && !isScopable(known.permissions))
      invalid(`the role ${role} cannot be narrowed to resources; leave resourceIds out`);
  }
  if (uses.some((u) => u.resourceIds.length)) {
    const live = new Set((await visibleResources(tx, caller.app, caller.org, caller.principal.grants)).map((r) => r.id));
    for (const id of uses.flatMap((u) => u.resourceIds))
      if (!live.has(id)) invalid(`${id} is not a resource that you can see; GET /api/v1/tokens/scope-options lists them`);
  }
  if (!covers(caller.principal.grants, grantsOf(uses, atomsOf(custom)))) {
    forbidden(`you do not hold everything that ${uses.map((u) => u.role).join(', ')} would give; nobody can give more than they hold`);
  }
  return uses;
}
