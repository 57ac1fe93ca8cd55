import { statusPages } from '../../../../contract/status-pages.ts';
import { audit } from '../../../identity/audit.ts';
import { ok, operation } from '../../../identity/operation.ts';
import { notFound } from '../../../kernel/errors.ts';
import { slugTopic } from '../rules/addresses.ts';
import { checkGroups, checkLogo, checkServices, checkTimezone } from '../engine/check-page.ts';
import { lockPage, updatePage } from '../store/status-pages.ts';
import { subscriberCounts } from '../store/subscribers.ts';
import { pageView } from '../views/status-page.ts';

export const updateStatusPage = operation(statusPages.updateStatusPage, async ({ ctx, params, body }) =>
  ctx.write(async (tx) => {
    const page = (await lockPage(tx, ctx.org, params.slug)) ?? notFound('status page');
    const subscribers = (await subscriberCounts(tx, ctx.org)).get(page.id) ?? 0;
    if (!Object.keys(body).length) return ok(pageView(ctx.app, page, subscribers));

    const fields = {
      title: body.title ?? page.title,
      description: body.description === undefined ? page.description : body.description,
      service_ids: body.serviceIds ?? page.service_ids,
      groups: body.groups ?? page.groups,
      accent: body.accentColour === undefined ? page.accent : body.accentColour,
      timezone: body.timezone ?? page.timezone,
    };
    if (body.timezone !== undefined) checkTimezone(body.timezone);
    if (body.groups || body.serviceIds) checkGroups(fields.groups, fields.service_ids);
    const logo = typeof body.logo === 'string' ? checkLogo(body.logo) : body.logo;
    if (body.serviceIds) await checkServices(tx, ctx, body.serviceIds);

    const changed = await updatePage(tx, ctx.org, page.id, fields, logo);
    await ctx.app.caches.drop(tx, slugTopic(page.slug));
    const { logo: image, ...told } = body;
    await audit(tx, ctx, 'status.page.update', page, {
      ...told,
      ...(image === undefined ? {} : { logo: image === null ? 'removed' : 'set' }),
    });
    return ok(pageView(ctx.app, changed, subscribers));
  }),
);
