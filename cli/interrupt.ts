import { exitCodes, Failure } from './exit.ts';

/** The work, ended by Ctrl-C with this sentence. */
export async function untilInterrupted<T>(sentence: string, work: (signal: AbortSignal) => Promise<T>): Promise<T> {
  const stop = new AbortController();
  const interrupt = () => stop.abort();
  process.on('SIGINT', interrupt);
  try {
    return await work(stop.signal);
  } catch (error) {
    if (stop.signal.aborted) throw new Failure(exitCodes.interrupted, `interrupted: ${sentence}`);
    throw error;
  } finally {
    // After a Ctrl-C the listener stays: bin/hand-over.mjs passes the same one on, and it would end the process before its last words.
    if (!stop.signal.aborted) process.off('SIGINT', interrupt);
  }
}
