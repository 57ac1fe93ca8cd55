import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, invalid, notFound } from '../../../kernel/errors.ts';
import { isTimezone } from '../../../kernel/time-zone.ts';
import { shareService } from '../../services/index.ts';
import { readLogo } from '../rules/logo.ts';
import type { Logo } from '../store/status-pages.ts';

/** Words that are, or may become, addresses beside the pages. */
const reserved = new Set(
  'about,admin,api,app,assets,atom,auth,blog,confirm,console,dashboard,docs,favicon,feed,healthz,help,history,incidents,login,logo,mail,metrics,oncall,quarterdeck,readyz,robots,root,rss,security,settings,sitemap,static,status,subscribe,support,token,unsubscribe,well-known,www'.split(
    ',',
  ),
);

export function checkSlug(slug: string): void {
  if (reserved.has(slug)) conflict(`the slug ${slug} is reserved; choose another one`);
}

/**
 * Each exists in the organization, and cannot be deleted until this transaction ends; but for those that the page shows already: of a
 * service that is gone its history stays there, for as long as the page names it.
 */
export async function checkServices(tx: Tx, org: string, serviceIds: readonly string[], shown: readonly string[] = []): Promise<void> {
  if (new Set(serviceIds).size !== serviceIds.length) invalid('serviceIds names a service twice; once is enough');
  // In the order of their ids, so that two who do this wait for each other instead of deadlocking with a delete.
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
