import { lockMember } from '../../../identity/store/members.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { lockIncident } from '../store/incidents.ts';
import type { PageRow } from '../store/pages.ts';
import { acknowledge, resolve, type StatusChange } from './change-status.ts';
import { confirmPage } from './page-reports.ts';

/** The result of an answer by link, key or text. `not-a-member`: the person was removed from the organization, so nothing changed. */
export type AnswerResult = StatusChange | 'not-a-member' | undefined;

/** Locks the incident before the member, in the same order as a member removal. */
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
