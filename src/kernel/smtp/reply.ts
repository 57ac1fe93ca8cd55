import { Refusal } from '../errors.ts';
import { isTemporary } from '../http/temporary-failure.ts';

/** A refusal as an SMTP reply. The RFC 3463 code precedes the sentence. */
export class Reply extends Error {
  readonly responseCode: number;

  constructor(responseCode: number, enhanced: string, sentence: string) {
    super(`${enhanced} ${sentence}`);
    this.name = 'Reply';
    this.responseCode = responseCode;
  }
}

/** The SMTP reply for a `Refusal`. With 4xx the client keeps the message and retries. */
export function replyFor(error: unknown): Reply {
  if (error instanceof Reply) return error;
  if (isTemporary(error)) return new Reply(451, '4.3.0', 'we cannot take mail at this moment; try again in a while');
  if (!(error instanceof Refusal)) return new Reply(451, '4.3.0', 'something went wrong on our side; try again in a while');
  const { status, code, message } = error;
  // Paused sending and a used-up quota are temporary: the client keeps the message and retries.
  if (code === 'sending_paused' || status === 429) return new Reply(451, '4.7.1', message);
  if (status === 413) return new Reply(552, '5.3.4', message);
  if (status === 403) return new Reply(550, '5.7.1', message);
  if (code === 'idempotency_running') return new Reply(451, '4.3.0', message);
  if (status === 409) return new Reply(550, '5.7.1', message);
  if (status === 401) return new Reply(535, '5.7.8', message);
  if (status >= 500) return new Reply(451, '4.3.0', message);
  return new Reply(550, '5.6.0', message);
}
