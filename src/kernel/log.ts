import { type Logger, pino } from 'pino';

export type { Logger };

/** Lines are events with fields, for the operator at 3 a.m. Credentials never appear, wherever they hide in an object. */
export const makeLog = (level: string, destination?: NodeJS.WritableStream): Logger =>
  pino(
    {
      level,
      base: undefined,
      timestamp: pino.stdTimeFunctions.isoTime,
      redact: {
        paths: ['*.authorization', '*.password', '*.secret', '*.token', '*.key', 'authorization', 'password', 'secret', 'token'],
        censor: '(hidden)',
      },
    },
    destination ?? pino.destination({ fd: 2, sync: false }),
  );
