import { run, type Tx } from '../kernel/db.ts';

/** Who acts: a caller of the API, or the operator at the command line. */
export interface Actor {
  org: string;
  user: { id: string; email: string };
  principal?: { id: string } | undefined;
  requestId?: string;
}

export const operator = (org: string): Actor => ({ org, user: { id: 'operator', email: 'operator' } });

interface Target {
  id: string;
  detail?: Record<string, unknown>;
}

/** In the transaction of the change: what is not audited did not happen. `detail` never holds a secret. */
export const audit = (tx: Tx, actor: Actor, action: string, target: { id: string }, detail: Record<string, unknown> = {}) =>
  auditEach(tx, actor, action, [{ id: target.id, detail }]);

/** The same of many things at once, in one statement. */
export async function auditEach(tx: Tx, actor: Actor, action: string, targets: readonly Target[]): Promise<void> {
  await run(tx)`
    insert into kernel.audit (id, org_id, at, actor, actor_label, token_id, action, target, request_id, detail)
    select kernel.new_id('aud'), ${actor.org}, kernel.now(), ${actor.user.id}, ${actor.user.email}, ${actor.principal?.id ?? null},
           ${action}, target, ${actor.requestId ?? null}, detail
      from unnest(${targets.map(({ id }) => id)}::text[], ${targets.map(({ detail = {} }) => JSON.stringify(detail))}::jsonb[]) t(target, detail)`;
}
