// Checks whether an incident of a service would lead to a page, now and during the next days. Pure: the caller passes a snapshot.
import type { ChannelName } from './channels.ts';
import type { Policy, Step } from './escalation.ts';
import type { Shift } from './rotation.ts';
import type { Person } from './types.ts';

export const lookaheadDays = 7;
const maxProblems = 20;
const maxGaps = 3;

export type ProblemCode = 'no-policy' | 'nobody-on-call' | 'not-a-member' | 'no-address' | 'no-relay' | 'no-provider' | 'dead-channel';

export interface Problem {
  code: ProblemCode;
  sentence: string;
}

/** One rule of a person, with the problem that prevents its pages. */
export interface RuleDiagnosis {
  channel: ChannelName;
  delaySeconds: number;
  problem: Problem | undefined;
}

export interface Snapshot {
  at: string;
  until: string;
  /** Undefined: no member. */
  person(userId: string): { label: string; ruleDiagnoses: readonly RuleDiagnosis[] } | undefined;
  /** Undefined: no such schedule. */
  schedule(id: string): { name: string; shifts: readonly Shift[]; participants: readonly Person[] } | undefined;
}

export interface Diagnosis {
  /** The first page that would arrive. */
  by: { step: number; userId: string; label: string; channel: ChannelName; afterSeconds: number } | undefined;
  problems: Problem[];
}

interface ShiftToCheck {
  userId: string;
  label: string;
  from: string;
  to: string;
  /** The person on call, for a sentence. */
  who: () => string;
  /** The rotation in order: the next people to page if this one cannot be reached. */
  others: readonly Person[];
}

type AddProblem = (code: ProblemCode, tell: () => string) => void;

export function diagnose(policy: Pick<Policy, 'steps'> | undefined, snapshot: Snapshot): Diagnosis {
  if (!policy)
    return { by: undefined, problems: [{ code: 'no-policy', sentence: 'no escalation policy is attached; attach one to the service' }] };
  const problems = new Map<string, Problem>();
  const note: AddProblem = (code, tell) => {
    if (problems.size >= maxProblems) return; // further problems are not shown, so their sentences are not built
    const sentence = tell();
    problems.set(sentence, { code, sentence });
  };
  const covered: { from: string; to: string }[] = [];
  let by: Diagnosis['by'];
  let waited = 0;

  for (const [index, step] of policy.steps.entries()) {
    let isReachedNow = false;
    for (const shift of shiftsToCheck(step, snapshot, note)) {
      const person = snapshot.person(shift.userId);
      if (!person) note('not-a-member', () => `${shift.who()} is no member any more`);
      for (const { problem } of person?.ruleDiagnoses ?? [])
        if (problem) note(problem.code, () => `${shift.label || person!.label}: ${problem.sentence}`);
      const reached = firstReachable(shift, snapshot);
      if (reached) covered.push(shift);
      if (shift.from > snapshot.at) continue;
      isReachedNow ||= reached !== undefined;
      const afterSeconds = waited + (reached?.rule.delaySeconds ?? 0);
      if (reached && (!by || afterSeconds < by.afterSeconds))
        by = { step: index + 1, userId: reached.userId, label: reached.label, channel: reached.rule.channel, afterSeconds };
    }
    if (isReachedNow) waited += step.waitSeconds; // a step without a reachable person does not wait
  }
  const gaps = gapsOf(covered, snapshot);
  return { by, problems: [...gaps, ...problems.values()].slice(0, maxProblems) };
}

/** The person on call, else the first of the others who can be reached. */
function firstReachable({ userId, label, others }: ShiftToCheck, { person }: Snapshot) {
  for (const each of [{ userId, label }, ...others]) {
    const known = person(each.userId);
    const rule = known && firstWorkingRule(known.ruleDiagnoses);
    if (rule) return { userId: each.userId, label: each.label || known.label, rule };
  }
  return undefined;
}

/** The shifts of a step from now on. */
function shiftsToCheck({ target }: Step, { at, until, schedule }: Snapshot, note: AddProblem): ShiftToCheck[] {
  if (target.kind === 'user')
    return [{ userId: target.id, label: target.label, from: at, to: until, who: () => target.label || target.id, others: [] }];
  const found = schedule(target.id);
  const name = found?.name ?? (target.label || target.id);
  if (!found?.shifts.length) {
    note('nobody-on-call', () => `nobody is on call in the schedule ${name} in the next ${lookaheadDays} days`);
    return [];
  }
  return found.shifts.map(({ userId, label, startsAt, endsAt }) => ({
    userId,
    label,
    from: startsAt,
    to: endsAt,
    others: found.participants,
    who: () => `${label || userId}, on call in the schedule ${name} from ${shown(startsAt)},`,
  }));
}

const firstWorkingRule = (ruleDiagnoses: readonly RuleDiagnosis[]): RuleDiagnosis | undefined =>
  ruleDiagnoses.filter((rule) => !rule.problem).toSorted((a, b) => a.delaySeconds - b.delaySeconds)[0];

/** Times at which no step reaches a person. */
function gapsOf(covered: readonly { from: string; to: string }[], { at, until }: Snapshot): Problem[] {
  const gaps: [from: string, to: string][] = [];
  let reached = at;
  for (const { from, to } of covered.toSorted((a, b) => (a.from < b.from ? -1 : 1))) {
    if (from > reached) gaps.push([reached, from]);
    if (to > reached) reached = to;
  }
  if (reached < until) gaps.push([reached, until]);
  return gaps.slice(0, maxGaps).map(([from, to]) => ({
    code: 'nobody-on-call',
    sentence:
      from === at && to === until
        ? `no step of the policy would reach anybody in the next ${lookaheadDays} days`
        : `no step of the policy would reach anybody ${from === at ? 'now' : `from ${shown(from)}`}, until ${shown(to)}`,
  }));
}

const shown = (instant: string) => `${instant.slice(0, 16).replace('T', ' ')} UTC`;

/** The last report to an organization's owners. */
export interface LastReport {
  told_at: string | null;
  told_digest: string | null;
}

/** At most one report a day: while there is a problem, and once when it is solved. `later`: there is news, but the day has not passed. */
export function whenToReport(
  before: LastReport | undefined,
  found: { withProblems: number; digest: string },
  at: string,
): 'now' | 'later' | 'never' {
  const isChanged = Boolean(before?.told_digest) && before?.told_digest !== found.digest;
  if (!found.withProblems && !isChanged) return 'never';
  return before?.told_at && Date.parse(at) - Date.parse(before.told_at) < 23 * 3_600_000 ? 'later' : 'now';
}
