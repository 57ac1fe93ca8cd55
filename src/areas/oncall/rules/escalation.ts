// The way of an incident through its policy: which step fires next, and when. Times are milliseconds of the product's clock.
import { assertProgress } from '../../../kernel/assert-progress.ts';

export interface Target {
  kind: 'schedule' | 'user';
  id: string;
  label: string;
}

export interface Step {
  target: Target;
  waitSeconds: number;
}

/** As it was when the incident opened: later changes never reach a walk under way. */
export interface Policy {
  id: string;
  name: string;
  /** Further passes after the first. */
  repeat: number;
  steps: readonly Step[];
  /** Whoever acknowledged is reminded so long after, and then again; 0 or absent: never. */
  remindAfterSeconds?: number;
}

/** More often would be another kind of noise. */
export const minReminderSeconds = 300;

export interface EscalationState {
  /** Without one, the walk ends at `at`. */
  next: { pass: number; step: number } | undefined;
  at: number;
  /** Seconds that the steps of this pass have waited so far. */
  waited: number;
}

/** A pass in which nothing waited must not begin again at once: ten of them would be one burst. */
export const minPassSeconds = 60;

export const startEscalation = (at: number): EscalationState => ({ next: { pass: 0, step: 0 }, at, waited: 0 });

/**
 * After the next step has fired at `now`, having reached somebody or nobody. Steps of one pass are due by the plan, so that those
 * missed while we were down fire one after the other at once; a new pass is due by the clock, so that a long absence is one pass of
 * pages and not all of them.
 */
export function advance(policy: Policy, state: EscalationState, reached: boolean, now: number): EscalationState {
  const { pass, step } = state.next!;
  const wait = reached ? policy.steps[step]!.waitSeconds : 0;
  const waited = state.waited + wait;
  const at = state.at + wait * 1000;
  if (step + 1 < policy.steps.length) return { next: { pass, step: step + 1 }, at, waited };
  if (pass >= policy.repeat) return { next: undefined, at, waited };
  const pause = waited > 0 ? wait : Math.max(minPassSeconds, totalWait(policy.steps));
  return { next: { pass: pass + 1, step: 0 }, at: Math.max(state.at, now) + pause * 1000, waited: 0 };
}

/** For whoever goes a walk in one loop: called before each step, it holds that none is repeated and that they come to an end. */
export function assertAdvancing({ name, repeat, steps }: Policy): (state: EscalationState) => void {
  const assertAdvance = assertProgress(`the walk through ${name}`, steps.length * (repeat + 1));
  return ({ next }) => assertAdvance(next!.pass * steps.length + next!.step);
}

const totalWait = (steps: readonly Step[]) => steps.reduce((sum, step) => sum + step.waitSeconds, 0);

/** Repeated without a moment to acknowledge: every pass would come at once. */
export const neverWaits = (repeat: number, steps: readonly Pick<Step, 'waitSeconds'>[]): boolean =>
  repeat > 0 && steps.every((step) => step.waitSeconds === 0);

const retrySeconds = [5, 15, 30];
const maxRetrySeconds = 60;

/** How long a page waits after its nth attempt failed for now. It is tried for as long as it is needed: an hour's absence costs an hour. */
export const retryAfterSeconds = (attempt: number): number => retrySeconds[attempt - 1] ?? maxRetrySeconds;

/** So often a page is handed to a provider that takes it and then cannot bring it: each time costs money. */
export const maxHandovers = 5;
