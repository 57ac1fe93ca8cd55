import type { FailureRow, TransitionRow } from '../store/observations.ts';

export const failureView = (f: FailureRow) => ({
  at: f.at,
  vantage: f.vantage,
  attempt: f.attempt,
  outcome: f.outcome,
  errorKind: f.error_kind,
  errorDetail: f.error_detail,
  responseSnippet: f.response_snippet,
});

export const transitionView = (t: TransitionRow) => ({
  at: t.at,
  from: t.from_state,
  to: t.to_state,
  failingVantages: t.failing_vantages,
});
