import type { Tx } from '../../../../../kernel/db/index.ts';
import { type SearchFor, searchAmong } from '../../../../../kernel/lists/search.ts';
import { isVisible, sql, type Visible } from '../../../../../kernel/sql.ts';
import { loggedMessages } from '../messages.ts';

const mostMessages = 1_000;

/**
 * By subject and recipients among the newest; by a whole address among all. `folded`: the text as addresses are stored. So many are read of
 * each state, direction and domain, because the newest of all are among them: with several domains, fewer.
 */
export const searchMessages = (tx: Tx, org: string, visible: Visible, folded: string, wanted: SearchFor) => {
  const most = visible === '*' ? mostMessages : Math.max(1, Math.floor(mostMessages / visible.size));
  const candidates = (found: ReturnType<typeof loggedMessages>) => sql`
    select m.id, m.id as address, coalesce(m.subject, '') as name, array_to_string(m.recipients, ' ') as alias,
           m.state || ', ' || array_to_string(m.recipients, ' ') as detail, '{}'::text[] as parents from (${found}) m`;
  return searchAmong(tx, wanted, {
    newest: candidates(loggedMessages(org, visible, {}, { before: null, limit: most })),
    prefixed: candidates(loggedMessages(org, visible, { to: folded }, { before: null, limit: wanted.limit })),
    most,
    hasMore: sql`exists (select from email.message where org_id = ${org} and ${isVisible(visible, sql`domain_id`)} offset ${most})`,
  });
};
