import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { listAuditRows } from '../../../identity/store/audit.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { auditView } from '../views/audit.ts';

export const listAudit = operation(organization.listAudit, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const slice = paginationOf(query);
    const { items, cursor } = paginate(
      await listAuditRows(tx, ctx.org, slice),
      slice,
      (a) => a.id,
      (a) => a.is_beyond,
    );
    return ok({ entries: items.map(auditView), ...(cursor ? { cursor } : {}) });
  }),
);
