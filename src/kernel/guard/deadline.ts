/** A timeout combined with the caller's own signal. `stop` must be called when the work is over. */
export interface Deadline {
  readonly signal: AbortSignal;
  stop(): void;
  /** From now on the timer no longer keeps the process alive. */
  relax(): void;
}

/** setTimeout fires at once for anything above 2³¹−1 ms, so an unlimited time gets no timer. */
export const after = (ms: number, then: () => void): NodeJS.Timeout | undefined => (ms < 2 ** 31 ? setTimeout(then, ms) : undefined);

/** AbortSignal.any is not used: on a signal that lives as long as the process it keeps a record of every request. */
export function deadline(ms: number, expired: () => Error, parent?: AbortSignal): Deadline {
  const controller = new AbortController();
  const follow = () => controller.abort(parent?.reason);
  const timer = after(ms, () => controller.abort(expired()));
  if (parent?.aborted) follow();
  else parent?.addEventListener('abort', follow, { once: true });
  const stop = () => {
    clearTimeout(timer);
    parent?.removeEventListener('abort', follow);
  };
  return { signal: controller.signal, stop, relax: () => timer?.unref() };
}

/** Waits for the work until the signal aborts. For work that cannot be cancelled. */
export async function unlessAborted<T>(signal: AbortSignal, work: () => Promise<T>): Promise<T> {
  signal.throwIfAborted();
  let abort = () => {};
  const aborted = new Promise<never>((_, reject) => {
    abort = () => reject(signal.reason);
    signal.addEventListener('abort', abort, { once: true });
  });
  try {
    return await Promise.race([work(), aborted]);
  } finally {
    signal.removeEventListener('abort', abort);
  }
}
