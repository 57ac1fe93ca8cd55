import { membersOf } from '../../../identity/members.ts';
import type { Tx } from '../../../kernel/db.ts';
import type { Step } from '../rules/walk.ts';
import { scheduleNames } from '../store/schedules.ts';
import type { Labels } from './incidents.ts';

/** Names for the targets that were given none, asked for only when there are such. */
export async function labelsFor(tx: Tx, org: string, policies: readonly { steps: readonly Step[] }[]): Promise<Labels> {
  const nameless = policies.flatMap((p) => p.steps).filter((s) => !s.target.label);
  const members = nameless.some((s) => s.target.kind === 'user') ? await membersOf(tx, org) : undefined;
  const schedules = nameless.some((s) => s.target.kind === 'schedule') ? await scheduleNames(tx, org) : undefined;
  return ({ kind, id }) => (kind === 'schedule' ? schedules?.get(id) : members?.get(id)?.name || members?.get(id)?.email);
}
