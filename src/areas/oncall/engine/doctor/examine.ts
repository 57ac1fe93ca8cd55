import { membersOf } from '../../../../identity/store/members.ts';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { now } from '../../../../kernel/time.ts';
import { yieldToLoop } from '../../../../kernel/yielding.ts';
import type { ServiceRow } from '../../../services/index.ts';
import { noAddresses } from '../../rules/addresses.ts';
import { type ChannelName, missingFor, tellingChannels } from '../../rules/channels.ts';
import { type Diagnosis, diagnose, lookaheadDays, type Problem, type RuleDiagnosis, type Snapshot } from '../../rules/doctor.ts';
import type { Step } from '../../rules/escalation.ts';
import { defaultRules } from '../../rules/paging-rules.ts';
import { type Shift, shiftsBetween } from '../../rules/rotation.ts';
import type { Person } from '../../rules/types.ts';
import { lastFailures, stepsOfServices } from '../../store/doctor.ts';
import { type Rota, rotasOf } from '../../store/schedules.ts';
import { preferencesOfUsers } from '../../store/settings.ts';
import { reachabilityOf } from '../reachability.ts';

export type ServiceDiagnosis = { service: ServiceRow } & Diagnosis;

/** Overrides read of one schedule; further ones in the seven days are ignored. */
const maxOverridesPerSchedule = 200;
const failureDays = 7;

/** Diagnoses these services with a fixed number of statements. */
export async function examineServices(tx: Tx, app: Pick<App, 'config' | 'mail'>, org: string, services: readonly ServiceRow[]) {
  const at = await now(tx);
  const until = new Date(Date.parse(at) + lookaheadDays * 86_400_000).toISOString();
  const attached = await stepsOfServices(
    tx,
    org,
    services.map((s) => s.id),
  );
  const targets = attached.flatMap(({ steps }) => steps.map((step) => step.target));
  const idsOf = (kind: 'schedule' | 'user') => [...new Set(targets.filter((t) => t.kind === kind).map((t) => t.id))];
  const rotas = await rotasOf(tx, org, idsOf('schedule'), at, until, maxOverridesPerSchedule);
  const schedules = await shiftsBySchedule(rotas, at, until);
  const userIds = [
    ...idsOf('user'),
    ...[...schedules.values()].flatMap(({ shifts, participants }) => [...shifts, ...participants].map((s) => s.userId)),
  ];
  const people = await loadPeople(tx, app, org, [...new Set(userIds)]);

  const snapshot: Snapshot = { at, until, person: (id) => people.get(id), schedule: (id) => schedules.get(id) };
  const diagnoses = await diagnosePolicies(attached, snapshot);
  const policyOf = new Map(attached.map(({ service_id, policy_id }) => [service_id, policy_id]));
  const examined: ServiceDiagnosis[] = services.map((service) => ({
    service,
    ...(diagnoses.get(policyOf.get(service.id) ?? '') ?? diagnose(undefined, snapshot)),
  }));
  return { at, examined };
}

/** The shifts of each schedule. Yields to the event loop after each one. */
export async function shiftsBySchedule(rotas: ReadonlyMap<string, Rota>, at: string, until: string) {
  const schedules = new Map<string, { name: string; shifts: Shift[]; participants: readonly Person[] }>();
  for (const [id, { name, rotation, overrides }] of rotas) {
    schedules.set(id, { name, shifts: shiftsBetween(rotation, overrides, at, until), participants: rotation.participants });
    await yieldToLoop();
  }
  return schedules;
}

/** Diagnoses each policy once, even if several services share it. Yields to the event loop after each one. */
export async function diagnosePolicies(
  attached: readonly { policy_id: string; steps: readonly Step[] }[],
  snapshot: Snapshot,
): Promise<Map<string, Diagnosis>> {
  const diagnoses = new Map<string, Diagnosis>();
  for (const { policy_id, steps } of attached) {
    if (diagnoses.has(policy_id)) continue;
    diagnoses.set(policy_id, diagnose({ steps }, snapshot));
    await yieldToLoop();
  }
  return diagnoses;
}

/** The reachability of each person now; users who are not members are left out. */
async function loadPeople(tx: Tx, app: Pick<App, 'config' | 'mail'>, org: string, ids: readonly string[]) {
  const [members, preferences, failures, reachabilityFor] = await Promise.all([
    membersOf(tx, org),
    preferencesOfUsers(tx, org, ids),
    lastFailures(tx, org, ids, tellingChannels, failureDays),
    reachabilityOf(tx, app, org),
  ]);
  const failureByChannel = new Map(failures.map((f) => [`${f.user_id} ${f.channel}`, f]));
  return new Map(
    ids.flatMap((id) => {
      const member = members.get(id);
      if (!member) return [];
      const { addresses, rules, stopped } = preferences.get(id) ?? { addresses: noAddresses, rules: defaultRules, stopped: false };
      const reachability = reachabilityFor({ email: member.email, ...addresses }, stopped);
      const ruleDiagnoses = rules.map(({ channel, delaySeconds }): RuleDiagnosis => {
        const missing = missingFor(channel, reachability);
        const problem = missing
          ? { code: missing.code, sentence: missing.warning }
          : failureOf(channel, failureByChannel.get(`${id} ${channel}`));
        return { channel, delaySeconds, problem };
      });
      return [[id, { label: member.name || member.email, ruleDiagnoses }] as const];
    }),
  );
}

const failureOf = (channel: ChannelName, last: { error: string | null; at: string } | undefined): Problem | undefined =>
  last && {
    code: 'dead-channel',
    sentence: `the last page by ${channel} failed on ${last.at.slice(0, 10)}: ${last.error ?? 'no reason is known'}`,
  };
