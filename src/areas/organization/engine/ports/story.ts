import { auditBetween } from '../../../../identity/store/audit.ts';
import { maxTold, type StorySource, type Told, tellSome } from '../../../ports.ts';
import { breakingActions, detailLine } from '../../rules/changes.ts';

/** Edits of every area, as the audit log has them: only for callers who may read it. */
export const organizationStory: StorySource = {
  async read(tx, { org, reach }, _own, { from, openedAt }) {
    if (reach('organization.audit.read') !== '*')
      return { withheld: [{ what: 'changes by people', permission: 'organization.audit.read' }] };
    const { told, isCut } = tellSome(
      await auditBetween(tx, org, { from, until: openedAt }, breakingActions, maxTold + 1),
      ({ at, actor_label, action, target, detail }): Told => {
        const line = detailLine(detail);
        return {
          at,
          kind: 'changed',
          title: `${actor_label}: ${action}`,
          ...(line ? { detail: line } : {}),
          ref: { kind: action.split('.').slice(0, 2).join('.'), id: target, parents: [] },
        };
      },
    );
    return { before: told, isCut };
  },
};
