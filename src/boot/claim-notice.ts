import { isOwnerUnclaimed, makeClaimLink } from '../areas/account/index.ts';
import type { App } from '../kernel/app.ts';

// How the first owner signs in, for the banner of a start. The link is a secret: it goes to a terminal, never to a log.

export interface ClaimPlace {
  /** Where the server listens. */
  url: string;
  /** As a user types it here. */
  commandName: string;
  isTerminal: boolean;
}

/** Until the owner has signed in once: a link that works once, or, where the banner may be kept, the command that makes one. */
export async function claimNotice({ db, config }: Pick<App, 'db' | 'config'>, place: ClaimPlace): Promise<string> {
  if (config.database_url || !place.isTerminal) {
    const isUnclaimed = await db.read(isOwnerUnclaimed);
    return isUnclaimed ? `\n  Open:  ${place.commandName} admin sign-in-link   makes a link that signs the owner in, once` : '';
  }
  const made = await db.write(makeClaimLink);
  const base = config.public_url || namedUrl(place.url);
  return made ? `\n  Open:  ${base}/sign-in/link/${made.secret}\n         signs ${made.email} in, once, within a day` : '';
}

/** A passkey cannot be bound to an IP address, so this machine is called by its name. */
export function namedUrl(url: string): string {
  const named = new URL(url);
  if (/^(?:127\.0\.0\.1|0\.0\.0\.0|\[::1?\])$/.test(named.hostname)) named.hostname = 'localhost';
  return named.origin;
}
