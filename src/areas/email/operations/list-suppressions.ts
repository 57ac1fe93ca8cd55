import { email } from '../../../../contract/email.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { cutSlice, sliceOf } from '../../../kernel/slice.ts';
import { listSuppressionRows } from '../store/suppressions.ts';
import { suppressionView } from '../views/suppression.ts';

export const listSuppressions = operation(email.listSuppressions, async ({ ctx, query }) =>
  ctx.read(async (tx) => {
    const slice = sliceOf(query);
    const { items, cursor } = cutSlice(await listSuppressionRows(tx, ctx.org, slice), slice, (s) => s.id);
    return ok({ suppressions: items.map(suppressionView), ...(cursor ? { cursor } : {}) });
  }),
);
