/** Events that the operator may want to see; ordinary operation is silent. */
export type PostgresEvent =
  | { event: 'postgres.initialized'; cluster: string; ms: number }
  | { event: 'postgres.waiting'; pid: number; reason: string }
  | { event: 'postgres.survivors'; pids: number[] }
  | { event: 'postgres.kept'; pid: number; adopted: boolean; ms: number }
  | { event: 'postgres.lock-regained'; pid: number }
  | { event: 'postgres.stopped'; pid: number; how: 'fast' | 'immediate' | 'still there' };

export type Log = (event: PostgresEvent) => void;
