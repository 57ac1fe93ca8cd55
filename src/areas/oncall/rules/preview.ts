// What would happen to an incident that nobody acknowledges: the same walk that pages, with the clock run ahead.
import { advance, begin, type Policy, stepByStep, type Target } from './walk.ts';

export interface PreviewPage {
  at: string;
  channel: string;
  /** Why it would fail. */
  problem?: string;
}

/** Whom a step would reach at an instant, and how; or why nobody. */
export type Foreseen =
  | { userId: string; label: string; pages: { delaySeconds: number; channel: string; problem?: string }[] }
  | { nobody: string };

export interface PreviewStep {
  at: string;
  pass: number;
  step: number;
  target: Target;
  responder?: { userId: string; label: string };
  pages: PreviewPage[];
  problem?: string;
}

export async function preview(
  policy: Policy,
  at: string,
  foresee: (target: Target, at: string) => Promise<Foreseen>,
): Promise<PreviewStep[]> {
  const steps: PreviewStep[] = [];
  const moveOn = stepByStep(policy);
  for (let walk = begin(Date.parse(at)); walk.next; ) {
    moveOn(walk);
    const { pass, step } = walk.next;
    const { target } = policy.steps[step]!;
    const due = walk.at;
    const seen = await foresee(target, iso(due));
    const reached = !('nobody' in seen);
    steps.push({
      at: iso(due),
      pass,
      step,
      target,
      ...(reached ? { responder: { userId: seen.userId, label: seen.label } } : { problem: seen.nobody }),
      pages: reached
        ? seen.pages.map(({ delaySeconds, channel, problem }) => ({
            at: iso(due + delaySeconds * 1000),
            channel,
            ...(problem ? { problem } : {}),
          }))
        : [],
    });
    walk = advance(policy, walk, reached, due);
  }
  return steps;
}

const iso = (ms: number) => new Date(ms).toISOString();
