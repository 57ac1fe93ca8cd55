import { allowNothing } from './allow.ts';
import { decide } from './decide.ts';

/** The port between mail servers. Uptime checks of users are used to bother mail servers, whose operators block the source. */
export const mailPort = 25;

/**
 * Whether a connection would bother a mail server of another organization. A private address was opened by the operator, or is refused
 * already: it leads to the operator's own mail server.
 */
export function isThirdPartyMailServer(use: string, host: string, port: number): boolean {
  if (port !== mailPort) return false;
  const verdict = decide(allowNothing, use, host);
  return verdict.allowed || verdict.class === 'unreadable';
}
