import { membersOf } from '../../../identity/store/members.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, invalid, notFound } from '../../../kernel/errors.ts';
import { shareService } from '../../services/index.ts';
import { minReminderSeconds, neverWaits, type Policy, type Step } from '../rules/escalation.ts';
import { isAtLimit, limitOf } from '../store/limits.ts';
import * as store from '../store/policies.ts';
import { shareSchedules } from '../store/schedules.ts';

// A change applies to incidents that open later: open incidents have their copy of the policy.

export async function createPolicy(tx: Tx, org: string, wanted: Omit<Policy, 'id'>): Promise<store.PolicyRow> {
  checkWaits(wanted.repeat, wanted.steps);
  checkReminder(wanted.remindAfterSeconds);
  await checkSteps(tx, org, wanted.steps);
  if (await isAtLimit(tx, org, 'policies'))
    conflict(`the organization has ${limitOf('policies')} escalation policies, which is the most; delete one first`);
  return store.insertPolicy(tx, org, wanted);
}

/** `before` is locked by this transaction. */
export async function updatePolicy(
  tx: Tx,
  org: string,
  before: store.PolicyRow,
  changes: { [K in 'name' | 'repeat' | 'steps' | 'remindAfterSeconds']?: Policy[K] | undefined },
): Promise<store.PolicyRow> {
  const { name = before.name, repeat = before.repeat, steps = before.steps, remindAfterSeconds = before.remind_seconds } = changes;
  checkWaits(repeat, steps);
  checkReminder(remindAfterSeconds);
  if (changes.steps) await checkSteps(tx, org, changes.steps);
  return store.updatePolicy(tx, org, before.id, { name, repeat, steps, remindAfterSeconds });
}

/** Refused while a service uses the policy. */
export async function deletePolicy(tx: Tx, org: string, policy: store.PolicyRow): Promise<void> {
  const users: string[] = [];
  for (const id of await store.servicesWith(tx, org, policy.id)) users.push((await shareService(tx, org, id))?.name ?? id);
  if (users.length) conflict(`the policy ${policy.name} still pages for ${users.join(', ')}; detach it there first`);
  await store.deletePolicy(tx, org, policy.id);
}

/** Without a policy, incidents of the service page no person. */
export async function attachPolicy(tx: Tx, org: string, serviceId: string, policyId: string | undefined): Promise<void> {
  if (policyId === undefined) await store.detachPolicy(tx, org, serviceId);
  else if (!(await store.attachPolicy(tx, org, serviceId, policyId))) notFound('policy in escalationPolicyId');
}

/** Checks that every target exists, and locks the schedules until this transaction ends. */
async function checkSteps(tx: Tx, org: string, steps: readonly Step[]): Promise<void> {
  const members = steps.some((s) => s.target.kind === 'user') ? await membersOf(tx, org) : undefined;
  const wanted = [...new Set(steps.filter((s) => s.target.kind === 'schedule').map((s) => s.target.id))];
  const schedules = new Set(wanted.length ? (await shareSchedules(tx, org, wanted)).map((s) => s.id) : []);
  for (const [i, { target }] of steps.entries()) {
    if (target.kind === 'schedule' && !schedules.has(target.id)) notFound(`schedule in steps.${i}.target.id`);
    if (target.kind === 'user' && !members?.has(target.id))
      invalid(`steps.${i}.target.id names a user who is no member of this organization; invite them first`);
  }
}

function checkReminder(seconds = 0): void {
  if (seconds > 0 && seconds < minReminderSeconds) invalid(`remindAfterSeconds must be 0 (never) or at least ${minReminderSeconds}`);
}

function checkWaits(repeat: number, steps: readonly Step[]): void {
  if (neverWaits(repeat, steps))
    invalid('every waitSeconds is 0 and repeat is not: all passes would come at once; give a step a wait, or set repeat to 0');
}
