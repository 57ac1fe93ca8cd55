import { organization } from '../../../../contract/organization.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { listAuditRows } from '../../../identity/store/audit.ts';
import { paged, pageOf } from '../../../kernel/page.ts';
import { auditView } from '../views/audit.ts';

export const listAudit = operation(organization.listAudit, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const page = pageOf(query);
    const { items, cursor } = paged(await listAuditRows(tx, ctx.org, page), page, (a) => a.id);
    return ok({ entries: items.map(auditView), ...(cursor ? { cursor } : {}) });
  }),
);
