import { nothing } from './allow.ts';
import { decide } from './decide.ts';

/** The port on which mail servers speak with each other. Strangers' checks are used to bother them, and their operators block whoever does. */
export const mailPort = 25;

/**
 * Whether a connection would bother somebody else's mail server. An address that is not public was opened by the operator, or is refused
 * for that reason already: behind it is their own mail server.
 */
export function isForeignMailServer(use: string, host: string, port: number): boolean {
  if (port !== mailPort) return false;
  const verdict = decide(nothing, use, host);
  return verdict.allowed || verdict.class === 'unreadable';
}
