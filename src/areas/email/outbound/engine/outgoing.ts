import type { Readable } from 'node:stream';

/** One recipient of one message, ready to send. */
export interface Outgoing {
  org: string;
  /** The message's id in the log. */
  messageId: string;
  /** The recipient, and its domain in lower-case ASCII. */
  address: string;
  domain: string;
  /** The MAIL FROM address. Bounce reports come back to it; it names this recipient. */
  returnPath: string;
  /** Number of earlier temporary refusals. */
  tries: number;
  bytes: number;
  /** Checked when a connection is free. False: the outcome is `waits`. */
  shouldSend?(): boolean;
  /** The signed message. Called once a connection is ready for it. */
  content(): Promise<Content>;
}

/** A message with CRLF line ends, before dot-stuffing. */
export interface Content {
  /** The Received field and the signatures. */
  head: Buffer;
  /** The submitted message; a large one is a stream. */
  body: Buffer | Readable;
}

/** A remote server's reply, or the local reason for there being none. Stored in the log. */
export interface ServerReply {
  /** The remote host, its address, and the TLS version. */
  mx?: string;
  ip?: string;
  tls?: string;
  /** The SMTP step: connect, greeting, ehlo, starttls, auth, mail, rcpt, data, dot; `here` for a local reason. */
  stage: string;
  code?: number;
  enhanced?: string;
  response: string;
}

export type BounceType = 'hard' | 'soft' | 'block' | 'undetermined';

/** The result of one attempt. */
export type Outcome =
  | { kind: 'delivered'; serverReply: ServerReply }
  /** A permanent refusal: of the recipient (hard), or of the content or the sender (block). Never retried. */
  | { kind: 'bounced'; bounceType: BounceType; class: string; serverReply: ServerReply }
  /** A temporary refusal of this message or recipient. */
  | { kind: 'deferred'; afterSeconds: number; class: string; serverReply: ServerReply }
  /** The remote server was not reached, or its site is in backoff. No server said anything about this message. */
  | { kind: 'waits'; afterSeconds: number; serverReply: ServerReply; because?: LocalReason };

/**
 * A local reason to wait: this server stops (the recipient is queued again), or our DNS, disk or limits are in the way. Time spent waiting for a
 * local reason never expires a message.
 */
export type LocalReason = 'stop' | 'ours';

/** Sends to each recipient's mail servers, over a few connections per site, fairly between organizations. */
export interface Sender {
  /** Resolves with the outcome; never rejects. */
  send(item: Outgoing): Promise<Outcome>;
  /** Seconds for which this domain takes no more messages: its site is in backoff, or its queue here is full. */
  backoffSeconds(domain: string, org: string): number;
  /** Closes each connection after its current message, and all of them after `graceMs`. Queued messages end in `waits`. */
  stop(graceMs: number): Promise<void>;
}
