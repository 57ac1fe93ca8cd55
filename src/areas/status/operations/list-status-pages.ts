import { statusPages } from '../../../../contract/status-pages.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { showPages } from '../engine/show-page.ts';
import * as store from '../store/status-pages.ts';

export const listStatusPages = operation(statusPages.listStatusPages, async ({ ctx }) =>
  ctx.read(async (tx) => ok({ pages: await showPages(tx, ctx.app, ctx.org, await store.listStatusPages(tx, ctx.org)) })),
);
