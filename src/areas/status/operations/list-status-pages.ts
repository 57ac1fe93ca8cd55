import { statusPages } from '../../../../contract/status-pages.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { baseUrlOf } from '../engine/base-url.ts';
import * as store from '../store/status-pages.ts';
import { countSubscribers } from '../store/subscribers.ts';
import { statusPageView } from '../views/status-page.ts';

export const listStatusPages = operation(statusPages.listStatusPages, async ({ ctx }) =>
  ctx.read(async (tx) => {
    const pages = await store.listStatusPages(tx, ctx.org);
    const counts = await countSubscribers(
      tx,
      ctx.org,
      pages.map((p) => p.id),
    );
    return ok({ pages: pages.map((p) => statusPageView(p, baseUrlOf(ctx.app), counts.get(p.id) ?? 0)) });
  }),
);
