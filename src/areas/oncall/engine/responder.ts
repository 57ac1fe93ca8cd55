import { type Member, memberOf } from '../../../identity/members.ts';
import type { Tx } from '../../../kernel/db.ts';
import type { Target } from '../rules/walk.ts';
import { onCall } from '../store/schedules.ts';

/** Whom a step reaches at an instant, or why nobody. */
export type Reached = { member: Member; label: string } | { nobody: string };

/** Schedules are asked when the step fires: an override made a second before counts. */
export async function responderOf(tx: Tx, org: string, target: Target, at: string): Promise<Reached> {
  if (target.kind === 'user') {
    const member = await memberOf(tx, org, target.id);
    return member
      ? { member, label: target.label || member.name || member.email }
      : { nobody: `${target.label || target.id} is no member any more` };
  }
  const turn = await onCall(tx, org, target.id, at);
  if (!turn) return { nobody: `nobody is on call in the schedule ${target.label || target.id}` };
  const member = await memberOf(tx, org, turn.userId);
  return member
    ? { member, label: turn.label || member.name || member.email }
    : { nobody: `${turn.label || turn.userId}, on call in the schedule ${target.label || target.id}, is no member any more` };
}
