import type { App } from '../../../../kernel/app.ts';
import { assignmentsChannel } from '../../store/monitor-row.ts';

/** Signals that there may be a change for probers. */
export interface Changes {
  /** Grows with every change. A caller that reads it before its query cannot miss a change. */
  count(): number;
  /** Resolves when the count differs from `seen`, the time is up, or the signal is aborted. */
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
  // Notifications sent while the listener was disconnected are lost, so any change may have happened.
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
