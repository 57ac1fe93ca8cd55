// Escalation of an incident through its policy: the next step and its time. Times are milliseconds of the product's clock.
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

/** The policy as it was when the incident opened: later changes do not affect a running escalation. */
export interface Policy {
  id: string;
  name: string;
  /** Further passes after the first. */
  repeat: number;
  steps: readonly Step[];
  /** Seconds until the acknowledger is reminded, repeatedly; 0 or absent: never. */
  remindAfterSeconds?: number;
}

/** A shorter interval would be noise. */
export const minReminderSeconds = 300;

export interface EscalationState {
  /** Undefined: the escalation ends at `at`. */
  next: { pass: number; step: number } | undefined;
  at: number;
  /** Seconds the steps of this pass have waited so far. */
  waited: number;
}

/** The minimum length of a pass: without it, ten passes without waits would be one burst. */
export const minPassSeconds = 60;

export const startEscalation = (at: number): EscalationState => ({ next: { pass: 0, step: 0 }, at, waited: 0 });

/**
 * The state after the next step fired at `now`. Steps of one pass are due by plan, so steps missed during downtime fire at once, one after
 * the other. A new pass is due by the clock, so a long downtime causes one pass of pages and not all of them.
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

/** Guards a loop over the steps: called before each step, it throws if a step repeats or the steps do not end. */
export function assertAdvancing({ name, repeat, steps }: Policy): (state: EscalationState) => void {
  const assertAdvance = assertProgress(`the walk through ${name}`, steps.length * (repeat + 1));
  return ({ next }) => assertAdvance(next!.pass * steps.length + next!.step);
}

const totalWait = (steps: readonly Step[]) => steps.reduce((sum, step) => sum + step.waitSeconds, 0);

/** Repeats without any wait: all passes would fire at once. */
export const neverWaits = (repeat: number, steps: readonly Pick<Step, 'waitSeconds'>[]): boolean =>
  repeat > 0 && steps.every((step) => step.waitSeconds === 0);

const retrySeconds = [5, 15, 30];
const maxRetrySeconds = 60;

/** The delay after the nth temporary failure. Retries go on while the page is needed, so an hour of provider outage costs an hour. */
export const retryAfterSeconds = (attempt: number): number => retrySeconds[attempt - 1] ?? maxRetrySeconds;

/** Attempts with a provider that accepts the page and fails to deliver it: each attempt costs money. */
export const maxHandovers = 5;
