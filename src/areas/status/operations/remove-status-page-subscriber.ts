import { statusPages } from '../../../../contract/status-pages.ts';
import { audit } from '../../../identity/audit.ts';
import { noContent, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { pageOf } from '../store/status-pages.ts';
import { deleteSubscriber } from '../store/subscribers.ts';

export const removeStatusPageSubscriber = operation(statusPages.removeStatusPageSubscriber, async ({ ctx, params }) =>
  ctx.write(async (tx) => {
    const page = (await pageOf(tx, ctx.org, params.slug)) ?? notFound('status page');
    if (!(await deleteSubscriber(tx, ctx.org, page.id, params.id))) notFound('subscriber');
    await audit(tx, ctx, 'status.subscriber.remove', { id: params.id }, { slug: page.slug });
    return noContent();
  }),
);
