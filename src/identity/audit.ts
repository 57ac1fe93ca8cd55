import { run, type Tx } from '../kernel/db.ts';

/** Who acts: a caller of the API, or the operator at the command line. */
export interface Actor {
  org: string;
  user: { id: string; email: string };
  principal?: { id: string } | undefined;
  requestId?: string;
}

export const operator = (org: string): Actor => ({ org, user: { id: 'operator', email: 'operator' } });

/** In the transaction of the change: what is not audited did not happen. `detail` never holds a secret. */
export async function audit(
  tx: Tx,
  actor: Actor,
  action: string,
  target: { id: string },
  detail: Record<string, unknown> = {},
): Promise<void> {
  await run(tx)`
    insert into kernel.audit (id, org_id, at, actor, actor_label, token_id, action, target, request_id, detail)
    values (kernel.new_id('aud'), ${actor.org}, kernel.now(), ${actor.user.id}, ${actor.user.email}, ${actor.principal?.id ?? null},
            ${action}, ${target.id}, ${actor.requestId ?? null}, ${JSON.stringify(detail)})`;
}
