import { lockMember } from '../../../identity/store/members.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { lockIncident } from '../store/incidents.ts';
import type { PageRow } from '../store/pages.ts';
import { confirmPage } from './page-reports.ts';
import { acknowledge, resolve, type Settled } from './settle.ts';

/** What whoever was paged made of it, by a link, a key or a text. `stranger`: they are no member any more, so nothing changed. */
export type Answered = Settled | 'stranger' | undefined;

/** The incident is locked before the member, as when somebody is removed. */
export async function answerPage(
  tx: Tx,
  org: string,
  page: Pick<PageRow, 'id' | 'incident_id' | 'user_id' | 'label'>,
  deed: 'acknowledge' | 'resolve',
): Promise<Answered> {
  await lockIncident(tx, org, page.incident_id);
  if (!(await lockMember(tx, org, page.user_id))) return 'stranger';
  await confirmPage(tx, org, page.id);
  const actor = { kind: 'user', id: page.user_id, label: page.label };
  return (deed === 'resolve' ? resolve : acknowledge)(tx, org, page.incident_id, actor);
}
