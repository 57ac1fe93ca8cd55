// Predicts the pages of an incident without acknowledgement: the paging code with the clock run ahead.
import { advance, assertAdvancing, type Policy, startEscalation, type Target } from './escalation.ts';

export interface PreviewPage {
  at: string;
  channel: string;
  /** Why it would fail. */
  problem?: string;
}

/** The responder and pages of a step at an instant, or why there is none. */
export type PreviewedResponder =
  | { userId: string; label: string; pages: { delaySeconds: number; channel: string; problem?: string }[] }
  | { unreachedBecause: string };

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
  predict: (target: Target, at: string) => Promise<PreviewedResponder>,
): Promise<PreviewStep[]> {
  const steps: PreviewStep[] = [];
  const assertAdvance = assertAdvancing(policy);
  for (let state = startEscalation(Date.parse(at)); state.next; ) {
    assertAdvance(state);
    const { pass, step } = state.next;
    const { target } = policy.steps[step]!;
    const due = state.at;
    const predicted = await predict(target, iso(due));
    const reached = !('unreachedBecause' in predicted);
    steps.push({
      at: iso(due),
      pass,
      step,
      target,
      ...(reached ? { responder: { userId: predicted.userId, label: predicted.label } } : { problem: predicted.unreachedBecause }),
      pages: reached
        ? predicted.pages.map(({ delaySeconds, channel, problem }) => ({
            at: iso(due + delaySeconds * 1000),
            channel,
            ...(problem ? { problem } : {}),
          }))
        : [],
    });
    state = advance(policy, state, reached, due);
  }
  return steps;
}

const iso = (ms: number) => new Date(ms).toISOString();
