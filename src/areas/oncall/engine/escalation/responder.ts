import { type Member, memberOf } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Target } from '../../rules/escalation.ts';
import type { Person } from '../../rules/rotation.ts';
import { peopleOnCall } from '../../store/schedules.ts';
import { type PagingPreferences, preferencesOf } from '../../store/settings.ts';

/** Somebody whom a step reaches, and how they want to be paged. */
export type Responder = { member: Member; label: string; broken: string[] } & PagingPreferences;

/** Whom a step reaches at an instant, or why nobody. `because`: why it is not the one whose turn it is. */
export type ResponderResult = (Responder & { because?: string }) | { nobody: string };

/**
 * Schedules are asked when the step fires: an override made a second before counts. Whoever was tried in this step and could not be
 * reached, or is no member any more, is passed over for the next in the rotation.
 */
export async function responderOf(
  tx: Tx,
  org: string,
  target: Target,
  at: string,
  tried: ReadonlySet<string> = new Set(),
  find: typeof memberOf = memberOf,
): Promise<ResponderResult> {
  const isSchedule = target.kind === 'schedule';
  const people: Person[] = isSchedule ? await peopleOnCall(tx, org, target.id, at) : [{ userId: target.id, label: target.label }];
  const where = isSchedule ? `, on call in the schedule ${target.label || target.id},` : '';
  let because: string | undefined;
  for (const { userId, label } of people) {
    const [member, wishes] = await Promise.all([find(tx, org, userId), preferencesOf(tx, userId)]);
    const name = label || member?.name || member?.email || userId;
    if (member && !tried.has(userId)) return { member, label: name, ...wishes, ...(because ? { because } : {}) };
    because ??= `${name}${where} ${member ? 'cannot be reached' : 'is no member any more'}`;
  }
  return { nobody: because ?? `nobody is on call in the schedule ${target.label || target.id}` };
}
