import { email } from '../../../../../contract/email.ts';
import { ok, operation } from '../../../../identity/operation.ts';
import { paginate, paginationOf } from '../../../../kernel/pagination.ts';
import { listSuppressionRows } from '../store/suppressions.ts';
import { suppressionView } from '../views/suppression.ts';

export const listSuppressions = operation(email.listSuppressions, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const slice = paginationOf(query);
    const { items, cursor } = paginate(await listSuppressionRows(tx, ctx.org, slice), slice, (s) => s.id);
    return ok({ suppressions: items.map(suppressionView), ...(cursor ? { cursor } : {}) });
  }),
);
