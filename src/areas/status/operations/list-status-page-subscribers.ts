import { statusPages } from '../../../../contract/status-pages.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { paginate, paginationOf } from '../../../kernel/pagination.ts';
import { findStatusPage } from '../store/status-pages.ts';
import { listSubscribers } from '../store/subscribers.ts';
import { subscriberView } from '../views/subscriber.ts';

export const listStatusPageSubscribers = operation(statusPages.listStatusPageSubscribers, async ({ ctx, params, query }) =>
  ctx.read(async (tx) => {
    const slice = paginationOf(query);
    const page = (await findStatusPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    const { items, cursor } = paginate(await listSubscribers(tx, ctx.org, page.id, slice), slice, (s) => s.id);
    return ok({ subscribers: items.map(subscriberView), ...(cursor ? { cursor } : {}) });
  }),
);
