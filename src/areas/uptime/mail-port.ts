import { decide, parseAllow } from '../../kernel/guard/index.ts';

/** Mail servers are the one thing that strangers' probes are used to bother, and their operators block whoever does. */
export const mailPort = 25;
const unopened = parseAllow('');

/** An address that is not public was opened by the operator, or is refused for that: behind it is their own mail server. */
export function bothersMail(host: string, port: number): boolean {
  if (port !== mailPort) return false;
  const verdict = decide(unopened, 'uptime', host);
  return verdict.allowed || verdict.class === 'unreadable';
}
