import { statusPages } from '../../../../contract/status-pages.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { showPage } from '../engine/show-page.ts';
import { listHeldBack } from '../store/mail-allowances.ts';
import { findStatusPage } from '../store/status-pages.ts';
import { heldBackView } from '../views/subscriber.ts';

export const getStatusPage = operation(statusPages.getStatusPage, async ({ ctx, params }) =>
  ctx.read(async (tx) => {
    const page = (await findStatusPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    const heldBack = (await listHeldBack(tx, ctx.org, page.id)).map(heldBackView);
    return ok({ ...(await showPage(tx, ctx.app, page)), heldBack });
  }),
);
