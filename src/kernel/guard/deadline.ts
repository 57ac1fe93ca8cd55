/** Time that runs out, together with the caller's own signal. `stop` must be called when the work is over. */
export interface Deadline {
  readonly signal: AbortSignal;
  stop(): void;
  /** From now on it ends the work, but does not keep the process alive for that. */
  relax(): void;
}

/** setTimeout fires at once for anything above 2³¹−1 ms, so a time without limit gets no timer. */
export const after = (ms: number, then: () => void): NodeJS.Timeout | undefined => (ms < 2 ** 31 ? setTimeout(then, ms) : undefined);

/** AbortSignal.any is not used: on a signal that lives as long as the process it keeps a record of every request ever made. */
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

/** Waits for the work, but not past the signal: for work that cannot be told to stop. */
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
