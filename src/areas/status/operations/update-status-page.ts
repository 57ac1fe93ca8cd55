import { statusPages } from '../../../../contract/status-pages.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { baseUrlOf } from '../engine/base-url.ts';
import { changeStatusPage } from '../engine/status-pages.ts';
import { lockStatusPage } from '../store/status-pages.ts';
import { countSubscribers } from '../store/subscribers.ts';
import { statusPageView } from '../views/status-page.ts';

export const updateStatusPage = operation(statusPages.updateStatusPage, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const page = (await lockStatusPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    const subscribers = (await countSubscribers(tx, ctx.org, [page.id])).get(page.id) ?? 0;
    const isChange = Object.keys(body).length > 0;
    const shown = isChange ? await changeStatusPage(tx, ctx, ctx.app.caches, page, body) : page;
    return ok(statusPageView(shown, baseUrlOf(ctx.app), subscribers));
  }),
);
