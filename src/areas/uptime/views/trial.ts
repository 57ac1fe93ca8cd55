import type { Result } from '../../../protocols/agent.ts';
import { withoutQueries } from '../../../protocols/agent.ts';

/** What one check saw. A trial is never `missed`: a server that is too busy to judge refuses instead. */
export const trialView = (seen: Omit<Result, 'monitor' | 'epoch' | 'ageMs'>, { withSnippet }: { withSnippet: boolean }) => ({
  vantage: 'local',
  passed: seen.outcome === 'pass',
  outcome: seen.outcome as 'pass' | 'fail' | 'error',
  latencyMs: seen.latencyMs ?? 0,
  phases: seen.phases ?? {},
  ...(seen.status === undefined ? {} : { status: seen.status }),
  ...(seen.redirects === undefined ? {} : { redirects: seen.redirects }),
  ...(seen.httpVersion === undefined ? {} : { httpVersion: seen.httpVersion }),
  ...(seen.family === undefined ? {} : { ipVersion: seen.family }),
  ...(seen.tlsVersion === undefined ? {} : { tlsVersion: seen.tlsVersion }),
  ...(seen.certificateUntil === undefined ? {} : { certificateEndsAt: new Date(seen.certificateUntil).toISOString() }),
  ...(seen.errorKind === undefined ? {} : { errorKind: seen.errorKind }),
  ...(seen.errorDetail === undefined ? {} : { errorDetail: seen.errorDetail }),
  ...(withSnippet && seen.snippet ? { responseSnippet: withoutQueries(seen.snippet) } : {}),
});
