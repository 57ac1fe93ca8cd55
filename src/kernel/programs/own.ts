import type { Logger } from '../log.ts';

// Programs of ours that run beside the server and end with it.

/** Only these variables are passed on: such a program needs neither the database nor any secret. */
const passedOn = ['PATH', 'NODE_COMPILE_CACHE', 'NODE_EXTRA_CA_CERTS', 'SSL_CERT_FILE', 'SSL_CERT_DIR', 'TZ'];

export const ownEnvironment = (): Record<string, string> =>
  Object.fromEntries(passedOn.flatMap((name) => (process.env[name] === undefined ? [] : [[name, process.env[name]]])));

const levels: Record<number, 'debug' | 'info' | 'warn' | 'error'> = { 20: 'debug', 30: 'info', 40: 'warn', 50: 'error', 60: 'error' };

/** A line of its log joins this server's log; other output comes from the runtime. */
export function passLine(log: Logger, program: string, line: string): void {
  try {
    const { level, msg, time, pid, hostname, ...fields } = JSON.parse(line);
    log[levels[level as number] ?? 'info'](fields, String(msg));
  } catch {
    log.warn({ line: line.slice(0, 500) }, `${program} says`);
  }
}
