import type { Readable } from 'node:stream';

/** A message that a door hands in. The door has judged it: its form, and that its sender may send it. */
export interface Submission {
  org: string;
  door: 'http' | 'smtp';
  sendKeyId: string;
  domainId: string;
  /** The headers as the log shows them. */
  sender: string;
  recipients: string[];
  copies: string[];
  subject?: string;
  messageId: string;
  tags?: Record<string, string>;
  /** Not before this time. */
  scheduledAt?: string;
  /** Whom it goes to: every address once, domains in lower-case ASCII. */
  envelope: string[];
  content: Content;
}

/** The message, header first, lines ending in CRLF: whole, or as a large one that comes in. */
export type Content = Buffer | { stream: Readable };

/** Of one caller, together: all are taken or none. */
export interface SubmitRequest {
  submissions: Submission[];
  /** The same key hands in the same once. The fingerprint tells whether it is the same. */
  idempotency?: { key: string; fingerprint: Buffer };
}

export interface AcceptedMessage {
  id: string;
  messageId: string;
}

/** Takes what doors hand in: when it answers, the messages are on disk and in the log. Throws a Refusal that says why not. */
export interface Intake {
  accept(handed: SubmitRequest): Promise<{ messages: AcceptedMessage[]; replayed: boolean }>;
}
