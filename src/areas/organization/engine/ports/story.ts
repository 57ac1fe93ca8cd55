import { type AuditRow, auditBetween } from '../../../../identity/store/audit.ts';
import { maxTold, type StorySource, type Told, tellSome } from '../../../ports.ts';
import { breakingActions, detailLine } from '../../rules/changes.ts';

/** Edits of every area before it and while it lasted, as the audit log has them: only for callers who may read it. */
export const organizationStory: StorySource = {
  async read(tx, { org, reach }, _own, { from, openedAt, until }) {
    if (reach('organization.audit.read') !== '*')
      return { withheld: [{ what: 'changes by people', permission: 'organization.audit.read' }] };
    const changed = async (since: string, to: string) =>
      tellSome(await auditBetween(tx, org, { from: since, until: to }, breakingActions, maxTold + 1), tellChange);
    const [before, during] = await Promise.all([changed(from, openedAt), changed(openedAt, until)]);
    const isEarlier = ({ at }: Told) => Date.parse(at) < Date.parse(openedAt);
    return { before: before.told.filter(isEarlier), entries: during.told, isCut: before.isCut || during.isCut };
  },
};

function tellChange({ at, actor_label, action, target, detail }: AuditRow): Told {
  const line = detailLine(detail);
  return {
    at,
    kind: 'changed',
    title: `${actor_label}: ${action}`,
    ...(line ? { detail: line } : {}),
    ref: { kind: action.split('.').slice(0, 2).join('.'), id: target, parents: [] },
  };
}
