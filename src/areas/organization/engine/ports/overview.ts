import type { Change, Ending } from '../../../../../contract/overview.ts';
import { listAuditRows } from '../../../../identity/store/audit.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { countAll, type OverviewPart, type OverviewSource, type Reader } from '../../../ports.ts';
import { listInvitations } from '../../store/invitations.ts';

const shownChanges = 10;

export const organizationOverview: OverviewSource = {
  async read(tx, reader) {
    const [changes, ends] = await Promise.all([readChanges(tx, reader), readInvitations(tx, reader)]);
    return { ...(changes ? { changes } : {}), ...(ends ? { ends } : {}) };
  },
};

async function readChanges(tx: Tx, { org, reach }: Reader): Promise<Change[] | undefined> {
  if (reach('organization.audit.read') !== '*') return undefined;
  const entries = await listAuditRows(tx, org, {}, { limit: shownChanges, after: null });
  return entries
    .slice(0, shownChanges)
    .map(({ id, at, actor_label, action, target }) => ({ id, at, actorLabel: actor_label, action, target }));
}

/** All of them end within 7 days. */
async function readInvitations(tx: Tx, { org, reach }: Reader): Promise<OverviewPart['ends']> {
  if (reach('organization.member.admin') !== '*') return undefined;
  const open = await listInvitations(tx, org);
  return countAll(
    open
      .map(({ id, email, expires_at }): Ending => ({ kind: 'invitation', id, name: email, endsAt: expires_at, parents: [] }))
      .sort((a, b) => Date.parse(a.endsAt) - Date.parse(b.endsAt)),
  );
}
