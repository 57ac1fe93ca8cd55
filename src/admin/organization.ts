import { listOrgs, type OrgOverview } from '../areas/organization/index.ts';
import type { Tx } from '../kernel/db/index.ts';
import { exitCodes, Stop } from '../kernel/errors.ts';

/** Acts on the whole installation are audited under this id, which only the operator's log shows. */
export const installation = '';

/** The one that is named; without a name the only one. */
export async function findOrganization(tx: Tx, slug: string | undefined): Promise<OrgOverview> {
  const all = await listOrgs(tx);
  const found = slug === undefined && all.length === 1 ? all[0] : all.find((o) => o.slug === slug);
  if (found) return found;
  if (slug === undefined && all.length > 1) throw new Stop(exitCodes.usage, `say which organization with --organization: ${listed(all)}`);
  if (slug === undefined)
    throw new Stop(exitCodes.refused, 'there is no organization yet; make one with `quarterdeck admin organizations create`');
  throw new Stop(
    exitCodes.refused,
    `there is no organization ${slug}; ${all.length ? `there ${all.length === 1 ? 'is' : 'are'} ${listed(all)}` : 'there is none at all'}`,
  );
}

const maxListed = 10;

const listed = (all: OrgOverview[]) =>
  all.length <= maxListed
    ? all.map((o) => o.slug).join(', ')
    : `${all
        .slice(0, maxListed)
        .map((o) => o.slug)
        .join(', ')} and ${all.length - maxListed} more (\`quarterdeck admin organizations list\`)`;
