import { statusPages } from '../../../../contract/status-pages.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { pageOf } from '../store/status-pages.ts';
import { subscriberCounts } from '../store/subscribers.ts';
import { pageView } from '../views/status-page.ts';

export const getStatusPage = operation(statusPages.getStatusPage, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const page = (await pageOf(tx, ctx.org, params.slug)) ?? notFound('status page');
    return ok(pageView(ctx.app, page, (await subscriberCounts(tx, ctx.org)).get(page.id) ?? 0));
  }),
);
