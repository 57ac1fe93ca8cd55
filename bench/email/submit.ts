import { execFile } from 'node:child_process';
import { join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);
const program = join(import.meta.dirname, 'load.ts');

interface Handing {
  port: number;
  sessions: number;
  count: number;
  /** Of each message. */
  bytes: number;
  logins?: string[];
  to?: string;
  /** As many as are taken by default. */
  perSecond?: number;
}

/** When the first message was handed in (by Date.now()), and the milliseconds until the last was taken. */
export interface HandedIn {
  began: number;
  ms: number;
}

/** By a program of its own, from the first message on: that it has to start and to log in is not what is measured. */
export async function handIn({ port, sessions, count, bytes, logins = [], to, perSecond }: Handing): Promise<HandedIn> {
  const env = {
    ...process.env,
    ...(to && { QUARTERDECK_BENCH_TO: to }),
    ...(perSecond && { QUARTERDECK_BENCH_PER_SECOND: String(perSecond) }),
  };
  const numbers = [port, Math.min(sessions, count), count, bytes].map(String);
  const { stdout } = await run(process.execPath, [program, ...numbers, ...logins], { env });
  const [began, ms] = stdout.split(' ').map(Number);
  return { began: began!, ms: ms! };
}
