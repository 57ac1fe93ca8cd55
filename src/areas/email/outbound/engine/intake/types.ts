import type { AcceptedMessage, SubmitRequest } from '../submission.ts';
import type { Prepared } from './prepare.ts';

export type SubmitResult = { messages: AcceptedMessage[]; replayed: boolean };

/** A request that waits for its batch. */
export interface PendingSubmit {
  request: SubmitRequest;
  prepared: Prepared[];
  /** The lease of recipients that this process sends to at once. */
  lease: string;
  resolve(answer: SubmitResult): void;
  reject(error: unknown): void;
}
