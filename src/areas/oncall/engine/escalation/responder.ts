import { type Member, memberOf } from '../../../../identity/store/members.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import type { Target } from '../../rules/escalation.ts';
import type { Person } from '../../rules/types.ts';
import { peopleOnCall, scheduleNames } from '../../store/schedules.ts';
import { type PagingPreferences, preferencesOf } from '../../store/settings.ts';

/** The person a step pages, with their paging preferences. */
export type Responder = { member: Member; label: string; broken: string[] } & PagingPreferences;

/** The responder of a step, or why there is none. `because`: why the person on call is not the responder. */
export type ResponderResult = (Responder & { because?: string }) | { unreachedBecause: string };

/**
 * Finds the responder when the step fires, so an override made a second earlier counts. People already tried in this step, and people who
 * are not members any more, are passed over for the next in the rotation.
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
  const scheduleName = async () => target.label || ((await scheduleNames(tx, org)).get(target.id) ?? target.id);
  let because: string | undefined;
  for (const { userId, label } of people) {
    const [member, wishes] = await Promise.all([find(tx, org, userId), preferencesOf(tx, userId)]);
    const name = label || member?.name || member?.email || userId;
    if (member && !tried.has(userId)) return { member, label: name, ...wishes, ...(because ? { because } : {}) };
    const where = isSchedule && because === undefined ? `, on call in the schedule ${await scheduleName()},` : '';
    because ??= `${name}${where} ${member ? 'cannot be reached' : 'is no member any more'}`;
  }
  return { unreachedBecause: because ?? `nobody is on call in the schedule ${await scheduleName()}` };
}
