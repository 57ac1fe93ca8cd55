import type { Reply } from './replies.ts';

/** Steps of a session; the log shows these names. */
export type Stage = 'connect' | 'greeting' | 'ehlo' | 'starttls' | 'auth' | 'rset' | 'mail' | 'rcpt' | 'data' | 'dot';

/** `reply`: the server refused. `tls`: the handshake failed, or TLS does not meet the policy. `content`: our stored copy could not be read. */
export type FailureKind = 'reply' | 'timeout' | 'closed' | 'protocol' | 'unreached' | 'tls' | 'content';

/** The session ended or could not be opened. */
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
