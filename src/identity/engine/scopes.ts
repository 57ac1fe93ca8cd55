import type { Tx } from '../../kernel/db/index.ts';
import { forbidden, invalid } from '../../kernel/errors.ts';
import type { Resource, ResourceSource } from '../resources.ts';
import { atomsOf, builtinRole, covers, type Grants, grantsOf, isScopable, type RoleUse, servicesOf } from '../rules/grants.ts';
import { customRoles } from '../store/roles.ts';

/** What scopes can name: resources that the caller can read. */
export async function visibleResources(tx: Tx, sources: readonly ResourceSource[], org: string, grants: Grants): Promise<Resource[]> {
  const found: Resource[] = [];
  for (const source of sources) {
    const visible = grants.get(source.permission);
    if (visible === undefined) continue;
    for (const { id, name } of await source.list(tx, org, visible)) found.push({ service: source.service, id, name });
  }
  return found;
}

interface Caller {
  org: string;
  principal: { grants: Grants };
}

export type WantedUse = { role: string; resourceIds?: string[] };

/** Unknown roles and resources are 400; more than the caller holds is 403. */
export async function checkRoleUses(
  tx: Tx,
  { org, principal: { grants } }: Caller,
  wanted: readonly WantedUse[],
  sources: readonly ResourceSource[],
): Promise<RoleUse[]> {
  const custom = await customRoles(tx, org);
  const uses = wanted.map(({ role, resourceIds = [] }) => ({ role, resourceIds: [...new Set(resourceIds)] }));
  requireFewIds(uses);
  const permissionsOfRole = new Map<string, readonly string[]>();
  for (const { role, resourceIds } of uses) {
    const known = builtinRole(role) ?? custom.find((r) => r.id === role);
    if (!known) return invalid(`${role} is not a role; GET /api/v1/iam/roles lists them`);
    if (resourceIds.length && !isScopable(known.permissions))
      invalid(`the role ${role} cannot be narrowed to resources; leave resourceIds out`);
    permissionsOfRole.set(role, known.permissions);
  }
  if (uses.some((u) => u.resourceIds.length)) {
    const live = Map.groupBy(await visibleResources(tx, sources, org, grants), (r) => r.id);
    for (const use of uses) checkSelector(use, servicesOf(permissionsOfRole.get(use.role)!), live);
  }
  if (!covers(grants, grantsOf(uses, atomsOf(custom)))) {
    forbidden(`you do not hold everything that ${uses.map((u) => u.role).join(', ')} would give; a caller can give only what they hold`);
  }
  return uses;
}

/** Resources that a new scope names, over all of its entries. Older scopes with more go on working. */
const maxScopeIds = 1_000;

/** All ids are read with every lookup of the token, and returned in every list of tokens. */
export function requireFewIds(uses: readonly RoleUse[]): void {
  const ids = uses.reduce((sum, { resourceIds }) => sum + resourceIds.length, 0);
  if (ids > maxScopeIds)
    invalid(`the scope names ${ids} resources, and at most ${maxScopeIds} in all can be named; name fewer, or mint several tokens`);
}

/** A role can be narrowed only to resources of its own services: on any other resource it gives nothing, and the request is a mistake. */
function checkSelector({ role, resourceIds }: RoleUse, services: ReadonlySet<string>, live: ReadonlyMap<string, readonly Resource[]>) {
  for (const id of resourceIds) {
    const found = live.get(id) ?? invalid(`${id} is not a resource that you can see; GET /api/v1/tokens/scope-options lists them`);
    if (!found.some((r) => services.has(r.service)))
      invalid(
        `${id} is a resource of ${found[0]!.service}, which the role ${role} gives nothing on; name resources of ${[...services].join(' or ')}`,
      );
  }
}
