import { statusPages } from '../../../../contract/status-pages.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { removeSubscriber } from '../engine/subscriptions.ts';
import { findStatusPage } from '../store/status-pages.ts';

export const removeStatusPageSubscriber = operation(statusPages.removeStatusPageSubscriber, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const page = (await findStatusPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    await removeSubscriber(tx, ctx, page, params.id);
    return noContent();
  }),
);
