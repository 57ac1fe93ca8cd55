import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, invalid, notFound } from '../../../kernel/errors.ts';
import { isTimezone } from '../../../kernel/time-zone.ts';
import { shareService } from '../../services/index.ts';
import { readLogo } from '../rules/logo.ts';
import type { Logo } from '../store/status-pages.ts';

/** Slugs that are, or may become, other addresses on the same host. */
const reserved = new Set(
  'about,admin,api,app,assets,atom,auth,blog,confirm,console,dashboard,docs,favicon,feed,healthz,help,history,incidents,login,logo,mail,metrics,oncall,quarterdeck,readyz,robots,root,rss,security,settings,sitemap,static,status,subscribe,support,token,unsubscribe,well-known,www'.split(
    ',',
  ),
);

export function checkSlug(slug: string): void {
  if (reserved.has(slug)) conflict(`the slug ${slug} is reserved; choose another one`);
}

/**
 * Checks that each service exists, and locks it for share until this transaction ends. Services already shown are exempt: a page keeps the
 * history of a deleted service while it names it.
 */
export async function checkServices(tx: Tx, org: string, serviceIds: readonly string[], shown: readonly string[] = []): Promise<void> {
  if (new Set(serviceIds).size !== serviceIds.length) invalid('serviceIds names a service twice; once is enough');
  // Locks in id order, so that concurrent callers do not deadlock with a delete.
  for (const id of serviceIds.filter((each) => !shown.includes(each)).sort())
    if (!(await shareService(tx, org, id))) notFound(`service ${id} in serviceIds`);
}

export function checkGroups(groups: readonly { serviceIds: readonly string[] }[], serviceIds: readonly string[]): void {
  const seen = new Set<string>();
  for (const id of groups.flatMap((g) => g.serviceIds)) {
    if (!serviceIds.includes(id)) invalid(`groups names the service ${id}, which is not among serviceIds; add it there first`);
    if (seen.has(id)) invalid(`groups names the service ${id} twice; a service stands in one group at most`);
    seen.add(id);
  }
}

export function checkTimezone(timezone: string): void {
  if (!isTimezone(timezone)) invalid('timezone must be an IANA name, such as Europe/Paris');
}

export const checkLogo = (url: string): Logo => {
  const logo = readLogo(url);
  return typeof logo === 'string' ? invalid(logo) : logo;
};
