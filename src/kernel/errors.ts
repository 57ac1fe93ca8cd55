/** A refusal that the caller can act on. `message` is public: it is written at the throw site and never contains text from elsewhere. */
export class Refusal extends Error {
  readonly status: number;
  readonly code: string;
  readonly headers: Record<string, string>;
  /** The operator has been notified already. */
  readonly isTold: boolean;

  constructor(
    status: number,
    code: string,
    sentence: string,
    options: { cause?: unknown; headers?: Record<string, string>; isTold?: boolean } = {},
  ) {
    // A stack trace is useless for a client error, and costs more than everything else here.
    const { stackTraceLimit } = Error;
    if (status < 500) Error.stackTraceLimit = 0;
    super(sentence, { cause: options.cause });
    Error.stackTraceLimit = stackTraceLimit;
    this.name = 'Refusal';
    this.status = status;
    this.code = code;
    this.headers = options.headers ?? {};
    this.isTold = options.isTold ?? false;
  }
}

const refuse =
  (status: number, code: string) =>
  (sentence: string, options: { cause?: unknown; code?: string } = {}): never => {
    throw new Refusal(status, options.code ?? code, sentence, { cause: options.cause });
  };

export const invalid = refuse(400, 'invalid');
export const unauthenticated = refuse(401, 'unauthenticated');
export const paymentRequired = refuse(402, 'payment_required');
export const forbidden = refuse(403, 'forbidden');
export const conflict = refuse(409, 'conflict');
export const rejected = refuse(422, 'rejected');
export const unreachable = refuse(502, 'unreachable');
export const unavailable = refuse(503, 'unavailable');

/** An unknown object and another organization's object look the same, on purpose. The sentence names only its kind. */
export const notFound = (what: string): never => {
  throw new Refusal(404, 'not_found', `unknown ${what}`);
};

/** A start-up or command-line failure: one sentence for the operator and its own exit code; no stack trace is printed. */
export class Stop extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, sentence: string, options: { cause?: unknown } = {}) {
    super(sentence, { cause: options.cause });
    this.name = 'Stop';
    this.exitCode = exitCode;
  }
}

/** Exit codes are an interface: scripts and service managers rely on them. 1 means an unexpected exception. */
export const exitCodes = {
  /** An uncaught exception; the same code as Node's. */
  fault: 1,
  usage: 2,
  alreadyRunning: 3,
  portTaken: 4,
  dataDirectory: 5,
  databaseUnreachable: 6,
  databaseNewer: 7,
  secretKey: 8,
  configuration: 9,
  // 10: failures before Quarterdeck itself runs (bin/hand-over.mjs).
  refused: 11,
  backup: 12,
} as const;

/**
 * How long a failure lasts. `for good`: the recipient or the message itself is refused. `until mended`: the same message may pass once
 * something else changes (a policy, a full mailbox, our settings). So it is retried; a caller with an alternative uses that at once. `for
 * now`: the next attempt may pass.
 */
export type RetryAdvice = 'for good' | 'until mended' | 'for now';
