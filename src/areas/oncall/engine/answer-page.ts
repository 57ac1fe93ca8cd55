import { lockMember } from '../../../identity/store/members.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { lockIncident } from '../store/incidents.ts';
import type { PageRow } from '../store/pages.ts';
import { acknowledge, resolve, type StatusChange } from './change-status.ts';
import { confirmPage } from './page-reports.ts';

/** What whoever was paged made of it, by a link, a key or a text. `not-a-member`: they are no member any more, so nothing changed. */
export type AnswerResult = StatusChange | 'not-a-member' | undefined;

/** The incident is locked before the member, as when somebody is removed. */
export async function answerPage(
  tx: Tx,
  org: string,
  page: Pick<PageRow, 'id' | 'incident_id' | 'user_id' | 'label'>,
  action: 'acknowledge' | 'resolve',
): Promise<AnswerResult> {
  await lockIncident(tx, org, page.incident_id);
  if (!(await lockMember(tx, org, page.user_id))) return 'not-a-member';
  await confirmPage(tx, org, page.id);
  const actor = { kind: 'user', id: page.user_id, label: page.label };
  return (action === 'resolve' ? resolve : acknowledge)(tx, org, page.incident_id, actor);
}
