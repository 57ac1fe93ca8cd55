import { statusPages } from '../../../../contract/status-pages.ts';
import { created, operation } from '../../../identity/operation.ts';
import { baseUrlOf } from '../engine/base-url.ts';
import { addStatusPage } from '../engine/status-pages.ts';
import { statusPageView } from '../views/status-page.ts';

export const createStatusPage = operation(statusPages.createStatusPage, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const page = await addStatusPage(tx, ctx, ctx.app.caches, body);
    return created(statusPageView(page, baseUrlOf(ctx.app), 0), `/status-pages/${page.slug}`);
  }),
);
