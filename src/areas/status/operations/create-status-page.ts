import { statusPages } from '../../../../contract/status-pages.ts';
import { created, operation } from '../../../identity/operation.ts';
import { showPage } from '../engine/show-page.ts';
import { addStatusPage } from '../engine/status-pages.ts';

export const createStatusPage = operation(statusPages.createStatusPage, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const page = await addStatusPage(tx, ctx, ctx.app, body);
    return created(await showPage(tx, ctx.app, page), `/status-pages/${page.slug}`);
  }),
);
