import { oncall } from '../../../../contract/oncall.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { testOf } from '../store/test-pages.ts';
import { pagingTestView } from '../views/paging-test.ts';

export const getPagingTest = operation(oncall.getPagingTest, async ({ ctx }) =>
  ctx.read(async (tx) => ok(pagingTestView(await testOf(tx, ctx.org, ctx.user.id)))),
);
