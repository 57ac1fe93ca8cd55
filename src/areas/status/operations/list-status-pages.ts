import { statusPages } from '../../../../contract/status-pages.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { pagesOf } from '../store/status-pages.ts';
import { subscriberCounts } from '../store/subscribers.ts';
import { pageView } from '../views/status-page.ts';

export const listStatusPages = operation(statusPages.listStatusPages, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const counts = await subscriberCounts(tx, ctx.org);
    return ok({ pages: (await pagesOf(tx, ctx.org)).map((p) => pageView(ctx.app, p, counts.get(p.id) ?? 0)) });
  }),
);
