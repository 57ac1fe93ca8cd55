import { statusPages } from '../../../../contract/status-pages.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { takeDownStatusPage } from '../engine/status-pages.ts';
import { lockStatusPage } from '../store/status-pages.ts';

export const deleteStatusPage = operation(statusPages.deleteStatusPage, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const page = (await lockStatusPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    await takeDownStatusPage(tx, ctx, ctx.app, page);
    return noContent();
  }),
);
