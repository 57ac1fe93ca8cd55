import { statusPages } from '../../../../contract/status-pages.ts';
import { operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { askForLook } from '../engine/page-domain.ts';
import { lockStatusPage } from '../store/status-pages.ts';

export const checkStatusPageDomain = operation(statusPages.checkStatusPageDomain, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const page = (await lockStatusPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    await askForLook(tx, ctx, page);
    return { status: 202 as const, body: { status: 'scheduled' } };
  }),
);
