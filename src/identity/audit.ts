import type { Tx } from '../kernel/db/index.ts';
import { hint } from '../kernel/jobs/index.ts';
import { DetailBudget } from './rules/audit-detail.ts';
import { deleteOldAudit, insertAuditRows } from './store/audit.ts';

/** The actor of an audit row: a caller of the API, or the operator at the command line. */
export interface Actor {
  org: string;
  user: { id: string; email: string };
  principal?: { id: string } | undefined;
  requestId?: string;
}

export const operator = (org: string): Actor => ({ org, user: { id: 'operator', email: 'operator' } });

const details = new DetailBudget();

interface Target {
  id: string;
  detail?: Record<string, unknown>;
}

/** Written in the transaction of the change, so there is no change without its row. `detail` never holds a secret. */
export const audit = (tx: Tx, actor: Actor, action: string, target: { id: string }, detail: Record<string, unknown> = {}) =>
  auditEach(tx, actor, action, [{ id: target.id, detail }]);

/** The same for many targets in one statement. */
export async function auditEach(tx: Tx, actor: Actor, action: string, targets: readonly Target[]): Promise<void> {
  hint(tx, actor.org, 'organization.audit');
  await insertAuditRows(tx, {
    org: actor.org,
    actor: actor.user.id,
    label: actor.user.email,
    token: actor.principal?.id ?? null,
    action,
    requestId: actor.requestId ?? null,
    targets: targets.map(({ id, detail = {} }) => ({ id, detail: details.spend(actor.org, detail) })),
  });
}

const rowsPerDelete = 1_000;

/** True when there may be more. */
export const forgetSomeAudit = async (tx: Tx, days: number): Promise<boolean> =>
  (await deleteOldAudit(tx, days, rowsPerDelete)) === rowsPerDelete;
