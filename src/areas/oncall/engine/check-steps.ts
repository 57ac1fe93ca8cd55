import { membersOf } from '../../../identity/members.ts';
import type { Tx } from '../../../kernel/db.ts';
import { invalid, notFound } from '../../../kernel/errors.ts';
import { neverWaits, type Step } from '../rules/walk.ts';
import { shareSchedules } from '../store/schedules.ts';

/** Steps that can be walked: their targets exist now, and schedules among them stay until this transaction ends. */
export async function checkSteps(tx: Tx, org: string, steps: readonly Step[]): Promise<void> {
  const members = steps.some((s) => s.target.kind === 'user') ? await membersOf(tx, org) : undefined;
  const wanted = [...new Set(steps.filter((s) => s.target.kind === 'schedule').map((s) => s.target.id))];
  const schedules = new Set(wanted.length ? (await shareSchedules(tx, org, wanted)).map((s) => s.id) : []);
  for (const [i, { target }] of steps.entries()) {
    if (target.kind === 'schedule' && !schedules.has(target.id)) notFound(`schedule in steps.${i}.target.id`);
    if (target.kind === 'user' && !members?.has(target.id))
      invalid(`steps.${i}.target.id names a user who is no member of this organization; invite them first`);
  }
}

export function checkWaits(repeat: number, steps: readonly Step[]): void {
  if (neverWaits(repeat, steps))
    invalid('every waitSeconds is 0 and repeat is not: all passes would come at once; give a step a wait, or set repeat to 0');
}
