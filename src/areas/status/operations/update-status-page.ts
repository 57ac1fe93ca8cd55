import { statusPages } from '../../../../contract/status-pages.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { showPage } from '../engine/show-page.ts';
import { changeStatusPage } from '../engine/status-pages.ts';
import { lockStatusPage } from '../store/status-pages.ts';

export const updateStatusPage = operation(statusPages.updateStatusPage, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const page = (await lockStatusPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    const isChange = Object.keys(body).length > 0;
    const shown = isChange ? await changeStatusPage(tx, ctx, ctx.app, page, body) : page;
    return ok(await showPage(tx, ctx.app, shown));
  }),
);
