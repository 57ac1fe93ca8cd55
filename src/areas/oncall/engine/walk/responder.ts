import { type Member, memberOf } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Target } from '../../rules/walk.ts';
import { personOnCall } from '../../store/schedules.ts';
import { type Wishes, wishesOf } from '../../store/settings.ts';

/** Somebody whom a step reaches, and how they want to be paged. */
export type Responder = { member: Member; label: string; broken: string[] } & Wishes;

/** Whom a step reaches at an instant, or why nobody. */
export type Reached = Responder | { nobody: string };

/** Schedules are asked when the step fires: an override made a second before counts. */
export async function responderOf(tx: Tx, org: string, target: Target, at: string): Promise<Reached> {
  if (target.kind === 'user') {
    const [member, wishes] = await wanted(tx, org, target.id);
    return member
      ? { member, label: target.label || member.name || member.email, ...wishes }
      : { nobody: `${target.label || target.id} is no member any more` };
  }
  const turn = await personOnCall(tx, org, target.id, at);
  if (!turn) return { nobody: `nobody is on call in the schedule ${target.label || target.id}` };
  const [member, wishes] = await wanted(tx, org, turn.userId);
  return member
    ? { member, label: turn.label || member.name || member.email, ...wishes }
    : { nobody: `${turn.label || turn.userId}, on call in the schedule ${target.label || target.id}, is no member any more` };
}

const wanted = (tx: Tx, org: string, userId: string) => Promise.all([memberOf(tx, org, userId), wishesOf(tx, org, userId)]);
