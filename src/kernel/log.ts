import { type Logger, pino } from 'pino';

export type { Logger };

/** The useful fields of an error, without its other properties: the database driver puts its whole connection on its errors. */
const errorFields = (error: unknown): unknown => {
  if (!(error instanceof Error)) return error;
  const { name, message, stack, code, cause } = error as Error & { code?: unknown };
  return {
    type: name,
    message,
    ...(code === undefined ? {} : { code }),
    stack,
    ...(cause === undefined ? {} : { cause: errorFields(cause) }),
  };
};

/** Lines are events with fields, for the operator at 3 a.m. Credentials never appear, wherever they hide in an object. */
export const makeLog = (level: string, destination?: NodeJS.WritableStream): Logger =>
  pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      serializers: { err: errorFields },
      redact: {
        paths: ['*.authorization', '*.password', '*.secret', '*.token', '*.key', 'authorization', 'password', 'secret', 'token'],
        censor: '(hidden)',
      },
    },
    destination ?? pino.destination({ fd: 2, sync: false }),
  );
