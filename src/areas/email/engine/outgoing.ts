import type { Readable } from 'node:stream';

/** One recipient of one message, to be sent now. */
export interface Outgoing {
  org: string;
  /** The message's id in the log. */
  messageId: string;
  /** Whom it is for, and the domain of that in lower-case ASCII. */
  address: string;
  domain: string;
  /** What stands in MAIL FROM: reports come back to it, and it names this recipient. */
  returnPath: string;
  /** How often the other side has said "later". */
  tries: number;
  bytes: number;
  /** Asked when its turn has come: whether it is still to be sent from here. If not, it `waits`. */
  shouldSend?(): boolean;
  /** The whole message, signed. Asked for once a connection is ready to take it. */
  content(): Promise<Content>;
}

/** A message as it goes over the wire, before dots are doubled: lines end in CRLF. */
export interface Content {
  /** What we put before it: trace and signatures. */
  head: Buffer;
  /** The message as it was handed in; large ones are streamed. */
  body: Buffer | Readable;
}

/** What the other side said, and where: for the log, and for whoever asks why. */
export interface ServerReply {
  /** Which host was spoken to, at which address, and how. */
  mx?: string;
  ip?: string;
  tls?: string;
  /** Which step it answered: connect, greeting, ehlo, starttls, auth, mail, rcpt, data, dot. */
  stage: string;
  code?: number;
  enhanced?: string;
  response: string;
}

export type BounceType = 'hard' | 'soft' | 'block' | 'undetermined';

/** What became of one attempt. */
export type Outcome =
  | { kind: 'delivered'; serverReply: ServerReply }
  /** The other side does not want it: for whom it is for (hard), for what it is or whom it is from (block). Never tried again. */
  | { kind: 'bounced'; bounceType: BounceType; class: string; serverReply: ServerReply }
  /** The other side said "later" about this message or recipient. */
  | { kind: 'deferred'; afterSeconds: number; class: string; serverReply: ServerReply }
  /** The other side was not reached, or is spared for a while: nothing was said about this message, which waits with its site. */
  | { kind: 'waits'; afterSeconds: number; serverReply: ServerReply; because?: LocalReason };

/**
 * Why a message waits that has nothing to do with the other side: this server stops (the row is put back as it was), or something of ours stands in
 * the way, such as our DNS, our disk or our bounds. Neither ever makes us give the message up.
 */
export type LocalReason = 'stop' | 'ours';

/** Sends to where each recipient's mail is taken in, a few connections a site, fairly between organizations. */
export interface Sender {
  /** Answers once its fate is known; never rejects. */
  send(item: Outgoing): Promise<Outcome>;
  /** Seconds for which nothing for this domain need be offered: its site is spared, or has enough waiting here. */
  backoffSeconds(domain: string, org: string): number;
  /** Ends connections once what is under way on them is finished, or after `graceMs`. What still waits `waits`. */
  stop(graceMs: number): Promise<void>;
}
