import { statusPages } from '../../../../contract/status-pages.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { baseUrlOf } from '../engine/base-url.ts';
import { listHeldBack } from '../store/mail-allowances.ts';
import { findStatusPage } from '../store/status-pages.ts';
import { countSubscribers } from '../store/subscribers.ts';
import { statusPageView } from '../views/status-page.ts';
import { heldBackView } from '../views/subscriber.ts';

export const getStatusPage = operation(statusPages.getStatusPage, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const page = (await findStatusPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    const subscribers = (await countSubscribers(tx, ctx.org, [page.id])).get(page.id) ?? 0;
    const heldBack = (await listHeldBack(tx, ctx.org, page.id)).map(heldBackView);
    return ok({ ...statusPageView(page, baseUrlOf(ctx.app), subscribers), heldBack });
  }),
);
