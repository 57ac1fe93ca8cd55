import { inspect } from 'node:util';
import { GiveUp, type JobOptions, RetryAt, RetryIn, Stopping } from './declare.ts';

/** The result of a run. */
export type Outcome =
  | { is: 'done' }
  | { is: 'retry'; inSeconds: number; error: string }
  | { is: 'retry'; at: string; error: string }
  | { is: 'dead'; error: string }
  /** Released as if it had not been claimed. */
  | { is: 'released' };

const maxDelaySeconds = 366 * 86_400;

/** 5 s · 2ⁿ up to 1 h, ± 20 %, so that jobs which failed together do not retry together. `chance` is in [0, 1). */
export const backoff = (attempt: number, chance: number): number =>
  Math.min(3_600, 5 * 2 ** Math.min(attempt - 1, 20)) * (0.8 + 0.4 * chance);

export function outcomeOf(
  error: unknown,
  { retry, maxAttempts }: { retry: JobOptions['retry']; maxAttempts: number },
  attempt: number,
  chance: number,
): Outcome {
  if (error instanceof Stopping) return { is: 'released' };
  const sentence = sentenceOf(error);
  const asked = error instanceof RetryIn || error instanceof RetryAt;
  const seconds = error instanceof RetryIn ? error.seconds : retry ? retry(attempt) : backoff(attempt, chance);
  if (error instanceof GiveUp || attempt >= maxAttempts || (!asked && seconds === undefined)) return { is: 'dead', error: sentence };
  if (error instanceof RetryAt && isTime(error.at)) return { is: 'retry', at: error.at, error: sentence };
  return { is: 'retry', inSeconds: bounded(seconds) ?? backoff(attempt, chance), error: sentence };
}

/** A handler's arithmetic is not trusted: one NaN in a batch of a hundred outcomes would fail them all. */
const bounded = (seconds: number | undefined) => (Number.isFinite(seconds) ? Math.min(Math.max(seconds!, 0), maxDelaySeconds) : undefined);

const isTime = (text: string) =>
  /^\d{4}-\d\d-\d\dT\d\d:\d\d(:\d\d(\.\d+)?)?(Z|[+-]\d\d:\d\d)$/.test(text) && !Number.isNaN(Date.parse(text));

/** Any thrown value, even one that cannot be made a string. */
const inspectThrown = (thrown: unknown) => (typeof thrown === 'object' ? inspect(thrown, { depth: 1 }) : String(thrown));

/** One line of at most 500 characters that PostgreSQL can store: no NUL, no half of a surrogate pair. */
export function sentenceOf(error: unknown): string {
  const cause =
    error instanceof Error && error.cause instanceof Error && !error.message.includes(error.cause.message)
      ? `: ${error.cause.message}`
      : '';
  const text = error instanceof Error ? `${error.message || error.name}${cause}` : inspectThrown(error);
  // biome-ignore lint/suspicious/noControlCharactersInRegex: control characters are what is removed
  const line = text.replace(/[\s\u0000-\u001f\u007f]+/g, ' ').trim() || 'it failed without saying why';
  return (line.length > 500 ? `${line.slice(0, 499)}…` : line).toWellFormed();
}
