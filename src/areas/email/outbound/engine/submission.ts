import type { Readable } from 'node:stream';

/** A message from the HTTP API or SMTP submission, which has checked its form and that the key may send from the domain. */
export interface Submission {
  org: string;
  door: 'http' | 'smtp';
  sendKeyId: string;
  domainId: string;
  /** Headers as shown in the log. */
  sender: string;
  recipients: string[];
  copies: string[];
  subject?: string;
  messageId: string;
  tags?: Record<string, string>;
  /** Not sent before this time. */
  scheduledAt?: string;
  /** Recipients, each once, domains in lower-case ASCII. */
  envelope: string[];
  content: Content;
}

/** The message with CRLF line ends: a buffer, or a stream for a large one. */
export type Content = Buffer | { stream: Readable };

/** The messages of one request: all are accepted or none. */
export interface SubmitRequest {
  submissions: Submission[];
  /** A repeated key with the same fingerprint gets the first answer again; with another fingerprint it is refused. */
  idempotency?: { key: string; fingerprint: Buffer };
}

export interface AcceptedMessage {
  id: string;
  messageId: string;
}

/** Accepts submissions. When `accept` resolves, the messages are on disk and in the log. It throws a Refusal with the reason otherwise. */
export interface Intake {
  accept(handed: SubmitRequest): Promise<{ messages: AcceptedMessage[]; replayed: boolean }>;
}
