// Would somebody be paged for a service: now, and at every moment of the next days? Pure: whoever asks brings what is known.
import type { ChannelName } from './channels.ts';
import type { Policy, Step } from './escalation.ts';
import type { Person, Shift } from './rotation.ts';

export const lookaheadDays = 7;
const maxProblems = 20;
const maxGaps = 3;

export type ProblemCode = 'no-policy' | 'nobody-on-call' | 'not-a-member' | 'no-address' | 'no-relay' | 'no-provider' | 'dead-channel';

export interface Problem {
  code: ProblemCode;
  sentence: string;
}

/** One rule of somebody's, with what keeps its pages from arriving. */
export interface RuleDiagnosis {
  channel: ChannelName;
  delaySeconds: number;
  problem: Problem | undefined;
}

export interface Snapshot {
  at: string;
  until: string;
  /** Undefined: no member. */
  person(userId: string): { label: string; ways: readonly RuleDiagnosis[] } | undefined;
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
  /** In a sentence: whose turn it is. */
  who: () => string;
  /** Who is paged at once when that one cannot be: the rotation in its order. */
  others: readonly Person[];
}

type AddProblem = (code: ProblemCode, tell: () => string) => void;

export function diagnose(policy: Pick<Policy, 'steps'> | undefined, snapshot: Snapshot): Diagnosis {
  if (!policy)
    return { by: undefined, problems: [{ code: 'no-policy', sentence: 'no escalation policy is attached; attach one to the service' }] };
  const problems = new Map<string, Problem>();
  const note: AddProblem = (code, tell) => {
    if (problems.size >= maxProblems) return; // more are not shown, so their sentences are not even made
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
      for (const { problem } of person?.ways ?? [])
        if (problem) note(problem.code, () => `${shift.label || person!.label}: ${problem.sentence}`);
      const reached = firstReachable(shift, snapshot);
      if (reached) covered.push(shift);
      if (shift.from > snapshot.at) continue;
      isReachedNow ||= reached !== undefined;
      const afterSeconds = waited + (reached?.way.delaySeconds ?? 0);
      if (reached && (!by || afterSeconds < by.afterSeconds))
        by = { step: index + 1, userId: reached.userId, label: reached.label, channel: reached.way.channel, afterSeconds };
    }
    if (isReachedNow) waited += step.waitSeconds; // a step that reaches nobody goes on at once
  }
  const gaps = gapsOf(covered, snapshot);
  return { by, problems: [...gaps, ...problems.values()].slice(0, maxProblems) };
}

/** Whose turn it is, or else the first of the others: whoever cannot be reached is passed over at once. */
function firstReachable({ userId, label, others }: ShiftToCheck, { person }: Snapshot) {
  for (const each of [{ userId, label }, ...others]) {
    const known = person(each.userId);
    const way = known && firstWorkingRule(known.ways);
    if (way) return { userId: each.userId, label: each.label || known.label, way };
  }
  return undefined;
}

/** Who would be paged by a step, from now on. */
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

const firstWorkingRule = (ways: readonly RuleDiagnosis[]): RuleDiagnosis | undefined =>
  ways.filter((way) => !way.problem).toSorted((a, b) => a.delaySeconds - b.delaySeconds)[0];

/** When no step reaches anybody. */
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

/** What is known of an organization's last examination. */
export interface LastReport {
  told_at: string | null;
  told_digest: string | null;
}

/** Once a day at most: while something is wrong, and when it is not any more. `later`: there is something, and its time has not come. */
export function whenToReport(
  before: LastReport | undefined,
  found: { withProblems: number; digest: string },
  at: string,
): 'now' | 'later' | 'never' {
  const isChanged = Boolean(before?.told_digest) && before?.told_digest !== found.digest;
  if (!found.withProblems && !isChanged) return 'never';
  return before?.told_at && Date.parse(at) - Date.parse(before.told_at) < 23 * 3_600_000 ? 'later' : 'now';
}
