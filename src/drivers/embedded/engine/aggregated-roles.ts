import { yieldToLoop } from '../../../kernel/yielding.ts';
import { forbiddenError } from '../../status.ts';
import type { KubeObject } from '../rules/object.ts';
import { aggregateRules } from '../rules/rbac.ts';
import { listObjects, type ObjectRow } from '../store/objects.ts';
import { limits } from './cluster.ts';
import type { WriteTransaction } from './write-transaction.ts';

const resource = 'clusterroles.rbac.authorization.k8s.io';
/** view → edit → admin is three levels; users may add a role on either side of that chain. */
const maxAggregationDepth = 5;

/** Recomputes the rules of aggregated cluster roles after a cluster role changed, in the same transaction. */
export async function updateAggregatedRoles(transaction: WriteTransaction): Promise<void> {
  const rows = await listObjects(transaction.tx, transaction.cluster, {
    resource,
    namespace: '',
    name: undefined,
    after: undefined,
    rows: 2 * limits.rbacObjects,
    bytes: 32 * limits.rbacBytes,
  });
  const roles = rows.map((row) => ({ row, object: JSON.parse(row.body) as KubeObject }));
  if (roles.filter(({ object }) => object['aggregationRule']).length > limits.aggregatingRoles)
    throw forbiddenError(
      { group: 'rbac.authorization.k8s.io', plural: 'clusterroles' },
      '',
      `at most ${limits.aggregatingRoles} roles of a cluster add up others`,
    );
  for (let round = 0; round < maxAggregationDepth; round++) {
    let hasChanged = false;
    for (const role of roles) hasChanged = (await updateAggregatedRole(transaction, role, roles)) || hasChanged;
    if (!hasChanged) return;
  }
}

interface RoleEntry {
  row: ObjectRow;
  object: KubeObject;
}

async function updateAggregatedRole(transaction: WriteTransaction, role: RoleEntry, roles: RoleEntry[]): Promise<boolean> {
  if (!role.object['aggregationRule']) return false;
  await yieldToLoop(); // a long list of rules must not block other tenants
  const rules = aggregateRules(
    role.object,
    roles.map(({ object }) => object),
  );
  if (!rules || JSON.stringify(rules) === JSON.stringify(role.object['rules'])) return false;
  const before = { object: role.object, bytes: role.row.bytes };
  const object = { ...role.object, metadata: { ...role.object.metadata }, rules };
  role.object = await transaction.put({ resource, namespace: '', name: role.row.name }, object, before);
  role.row = { ...role.row, bytes: Buffer.byteLength(JSON.stringify(role.object)) };
  return true;
}
