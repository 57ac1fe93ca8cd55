/** The database is unavailable. Operations answer 502 or 503, as their area decides. */
export class DatabaseUnavailable extends Error {
  constructor(cause: unknown) {
    super('the database cannot be reached', { cause });
    this.name = 'DatabaseAway';
  }
}

/** The database works, but this organization waited too long for its share of connections. */
export class DatabaseBusy extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super(cause);
    this.name = 'DatabaseBusy';
    this.message = 'this organization uses its whole share of the database’s connections';
  }
}

/** The database answers, but its disk is full. */
export class DatabaseFull extends DatabaseUnavailable {
  constructor(cause: unknown) {
    super(cause);
    this.name = 'DatabaseFull';
    this.message = 'the disk of the database is full';
  }
}

/** The database cancelled the statement: it took too long, or another transaction held a row for too long. */
export class DatabaseSlow extends DatabaseUnavailable {
  readonly isLocked: boolean;

  constructor(cause: unknown) {
    super(cause);
    this.name = 'DatabaseSlow';
    this.isLocked = codeOf(cause) === '55P03';
    this.message = this.isLocked ? 'somebody else holds a row that this needs' : 'a statement took too long';
  }
}

/** The error code from PostgreSQL or the operating system. */
export const codeOf = (error: unknown): string => String((error as { code?: unknown } | undefined)?.code ?? '');

/** Connection lost, refused, timed out, shutting down or out of slots: the caller may retry later. */
export function asUnavailable(error: unknown): DatabaseUnavailable | undefined {
  if (error instanceof DatabaseUnavailable) return error;
  const code = codeOf(error);
  if (code === '53100') return new DatabaseFull(error);
  if (code === '57014' || code === '55P03') return new DatabaseSlow(error);
  const message = error instanceof Error ? error.message : '';
  const lost =
    /^(08|57P|53)/.test(code) ||
    [
      '25006', // the server is read-only now: another one has taken over
      '25P03',
      'ECONNREFUSED',
      'ECONNRESET',
      'ENOENT',
      'EPIPE',
      'ETIMEDOUT',
      'EHOSTUNREACH',
      'ENOTFOUND',
      'EAI_AGAIN',
    ].includes(code) ||
    /timeout exceeded when trying to connect|Connection terminated|Query read timeout|Client has encountered a connection error|not queryable|not currently accepting connections/.test(
      message,
    );
  return lost ? new DatabaseUnavailable(error) : undefined;
}

/** For connections outside the pool. */
export const isUnavailable = (error: unknown): boolean => asUnavailable(error) !== undefined;

/** Deadlock, serialization failure, unique and foreign key violations. */
export const isRetryable: ReadonlySet<string> = new Set(['40P01', '40001', '23505', '23503']);

/** Class 22: a value that the column cannot hold; class 23: a constraint violation. A batch writer retries the other rows without it. */
export const isAboutData = (error: unknown): boolean => /^2[23]/.test(codeOf(error));

export const isUniqueViolation = (error: unknown): boolean => codeOf(error) === '23505';
