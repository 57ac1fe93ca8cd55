import type { Reply } from './replies.ts';

/** The steps of a session, as they stand in the log. */
export type Stage = 'connect' | 'greeting' | 'ehlo' | 'starttls' | 'auth' | 'rset' | 'mail' | 'rcpt' | 'data' | 'dot';

/** `reply`: the server said no. `tls`: a handshake that failed, or TLS that is not as it must be. `content`: our own copy could not be read. */
export type FailureKind = 'reply' | 'timeout' | 'closed' | 'protocol' | 'unreached' | 'tls' | 'content';

/** The session is over, or never was one. */
export class SmtpFailure extends Error {
  readonly stage: Stage;
  readonly kind: FailureKind;
  readonly reply: Reply | undefined;

  constructor(stage: Stage, kind: FailureKind, sentence: string, options: { reply?: Reply; cause?: unknown } = {}) {
    super(sentence, { cause: options.cause });
    this.name = 'SmtpFailure';
    this.stage = stage;
    this.kind = kind;
    this.reply = options.reply;
  }
}
