import type { App } from '../../../../kernel/app.ts';
import { assignmentsChannel } from '../../store/monitor-row.ts';

/** Says when there may be something new for probers. */
export interface Changes {
  /** Moves with every change: whoever read it before it looked cannot miss one. */
  count(): number;
  /** Until it has moved past `seen`, the time is up, or the signal is aborted. */
  after(seen: number, ms: number, signal: AbortSignal): Promise<void>;
}

export function followChanges(app: App): Changes {
  let changes = 0;
  const waiting = new Set<() => void>();
  const changed = () => {
    changes++;
    for (const tell of waiting) tell();
  };
  app.listener.on(assignmentsChannel, changed);
  // What was said while we were deaf is unknown.
  app.listener.onChange(changed);
  return {
    count: () => changes,
    after: (seen, ms, signal) =>
      new Promise((resolve) => {
        if (changes !== seen || signal.aborted) return resolve();
        const done = () => {
          clearTimeout(timer);
          waiting.delete(done);
          signal.removeEventListener('abort', done);
          resolve();
        };
        const timer = setTimeout(done, ms);
        waiting.add(done);
        signal.addEventListener('abort', done);
      }),
  };
}
