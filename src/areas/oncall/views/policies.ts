import { membersOf } from '../../../identity/store/members.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import type { Step } from '../rules/escalation.ts';
import type { PolicyRow } from '../store/policies.ts';
import { scheduleNames } from '../store/schedules.ts';

/** Current names of targets without their own label. */
export type Labels = (target: { kind: 'schedule' | 'user'; id: string }) => string | undefined;

/** Loads names for targets without a label; no query if there are none. */
export async function labelsFor(tx: Tx, org: string, policies: readonly { steps: readonly Step[] }[]): Promise<Labels> {
  const nameless = policies.flatMap((p) => p.steps).filter((s) => !s.target.label);
  const members = nameless.some((s) => s.target.kind === 'user') ? await membersOf(tx, org) : undefined;
  const schedules = nameless.some((s) => s.target.kind === 'schedule') ? await scheduleNames(tx, org) : undefined;
  return ({ kind, id }) => (kind === 'schedule' ? schedules?.get(id) : members?.get(id)?.name || members?.get(id)?.email);
}

export const policyView = (p: PolicyRow, labels: Labels) => ({
  id: p.id,
  name: p.name,
  repeat: p.repeat,
  steps: p.steps.map(({ target, waitSeconds }) => ({
    target: { kind: target.kind, id: target.id, label: target.label || (labels(target) ?? target.id) },
    waitSeconds,
  })),
  remindAfterSeconds: p.remind_seconds,
  services: p.services,
  createdAt: p.created_at,
});
