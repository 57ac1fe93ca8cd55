import { oncall } from '../../../../contract/oncall.ts';
import { audit } from '../../../identity/audit.ts';
import { operation } from '../../../identity/operation.ts';
import { startTest } from '../engine/pages/test-pages.ts';
import { pagingTestView } from '../views/paging-test.ts';

export const testPaging = operation(oncall.testPaging, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const { pages, warnings } = await startTest(tx, ctx.app, ctx.org, ctx.user, body?.channels);
    await audit(tx, ctx, 'oncall.settings.test', ctx.user, { channels: pages.map((page) => page.channel) });
    return { status: 202 as const, body: pagingTestView(pages, warnings) };
  }),
);
