import type { LoopThrottle } from './loop-throttle.ts';

/** The tenant and the operation that a piece of work belongs to. It selects the share that is charged and the label in the metrics. */
export interface WorkContext {
  /** An organization's id; '' for the server's own work. */
  readonly org: string;
  /** An operation's id, a plane's name, a job's kind or a task's name. */
  readonly operation: string;
  /** Not an organization: an address, the probers, the server itself. It is never throttled, and no tenant is throttled for it. */
  readonly isSystem?: boolean;
  /** Never throttled, however much of the event loop its organization has used: pages on their way out, and their acknowledgements. */
  readonly isUrgent?: boolean;
  /** Of a batch with work of several organizations: the share of its time that each one is charged. */
  readonly orgShares?: ReadonlyMap<string, number>;
}

/**
 * Attributes event-loop time to contexts. A piece of work begins with `resume`: a request, a database answer, a job, a portion of long work. It
 * lasts until the next `resume`, or until its microtasks are drained: the next callback belongs to an unknown context.
 */
export interface LoopWatch {
  /** Charges the time from here on to this context, until the next `resume` or the end of this callback. Costs 0.2 µs. */
  resume(context: WorkContext): void;
  /** Before work that can be delayed, such as a transaction or the next chunk of a body: resumes, or returns the delay to await first. */
  takeTurn(context?: WorkContext): Promise<void> | undefined;
  /** Long pieces of work, by operation. */
  figures(): { act: string; count: number; seconds: number; longest: number }[];
  throttle: LoopThrottle;
  /** Whether the event loop is busy. */
  isBusy(): boolean;
}
