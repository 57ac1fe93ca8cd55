import { checksASecond, type MissedKind, missedKinds } from '../../../protocols/agent.ts';

/** Why a monitor is not checked as configured: a stable name, and a sentence for people. */
export interface Condition {
  kind: MissedKind;
  vantage: string;
  /** When it was last seen. */
  at: string;
  message: string;
}

export const isMissedKind = (kind: string | undefined): kind is MissedKind => missedKinds.some((known) => known === kind);

const sentences: Record<MissedKind, string> = {
  host_rate: `more than ${checksASecond} checks a second are due at this host and port, and a prober makes no more; check it less often, or with fewer monitors`,
  still_running: 'a check was still under way when the next one was due; lower the timeout, or check less often',
  overloaded: 'the prober was too busy to make the check within its interval; give it more CPU, or start another one there',
};

export const conditionsOf = (skipped: readonly { vantage: string; at: string; because: string }[]): Condition[] =>
  skipped.flatMap(({ vantage, at, because }) =>
    isMissedKind(because) ? [{ kind: because, vantage, at, message: `checks from ${vantage} are left out: ${sentences[because]}` }] : [],
  );
