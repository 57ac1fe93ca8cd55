import { statusPages } from '../../../../contract/status-pages.ts';
import { audit } from '../../../identity/audit.ts';
import { created, operation } from '../../../identity/operation.ts';
import { conflict } from '../../../kernel/errors.ts';
import { slugTopic } from '../rules/addresses.ts';
import { checkGroups, checkLogo, checkServices, checkTimezone, isReserved } from '../engine/check-page.ts';
import { insertPage } from '../store/status-pages.ts';
import { pageView } from '../views/status-page.ts';

export const createStatusPage = operation(statusPages.createStatusPage, async ({ ctx, body }) =>
  ctx.write(async (tx) => {
    const { slug, title, serviceIds, groups = [], timezone = 'UTC' } = body;
    checkTimezone(timezone);
    checkGroups(groups, serviceIds);
    const logo = body.logo === undefined ? undefined : checkLogo(body.logo);
    if (isReserved(slug)) conflict(`the slug ${slug} is reserved; choose another one`);
    await checkServices(tx, ctx, serviceIds);

    const fields = {
      title,
      description: body.description ?? null,
      service_ids: serviceIds,
      groups,
      accent: body.accentColour ?? null,
      timezone,
    };
    const page = (await insertPage(tx, ctx.org, slug, fields, logo)) ?? conflict(`the slug ${slug} is taken; choose another one`);
    await ctx.app.caches.drop(tx, slugTopic(slug));
    await audit(tx, ctx, 'status.page.create', page, { slug, title, serviceIds });
    return created(pageView(ctx.app, page, 0), `/status-pages/${slug}`);
  }),
);
