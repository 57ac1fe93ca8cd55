/** The server refused: `message` is its sentence, for a person; `code` is stable, for a program. */
export class ApiError extends Error {
  readonly status: number;
  readonly code: string;
  readonly requestId: string | undefined;
  /** Seconds to wait before another try, where the server said so. */
  readonly retryAfter: number | undefined;

  constructor(
    status: number,
    code: string,
    sentence: string,
    options: { requestId?: string | undefined; retryAfter?: number | undefined } = {},
  ) {
    super(sentence);
    this.name = 'ApiError';
    this.status = status;
    this.code = code;
    this.requestId = options.requestId;
    this.retryAfter = options.retryAfter;
  }
}

/** Nothing that is a Quarterdeck server answered. Whether the request was carried out is not known. */
export class UnreachableError extends Error {
  constructor(sentence: string, options: { cause?: unknown } = {}) {
    super(sentence, options);
    this.name = 'UnreachableError';
  }
}
