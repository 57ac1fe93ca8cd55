import { statusPages } from '../../../../contract/status-pages.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { slugTopic } from '../rules/addresses.ts';
import { deletePage, lockPage } from '../store/status-pages.ts';

export const deleteStatusPage = operation(statusPages.deleteStatusPage, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const page = (await lockPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    await deletePage(tx, ctx.org, page.id);
    await ctx.app.caches.drop(tx, slugTopic(page.slug));
    await audit(tx, ctx, 'status.page.delete', page, { slug: page.slug });
    return noContent();
  }),
);
