import type { Body } from '../../../../contract/common.ts';
import type { statusPages } from '../../../../contract/status-pages.ts';
import { type Actor, audit } from '../../../identity/audit.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict } from '../../../kernel/errors.ts';
import { statusPageTopic } from '../rules/addresses.ts';
import {
  countStatusPages,
  deleteStatusPage,
  insertStatusPage,
  type StatusPageFields,
  type StatusPageRow,
  updateStatusPage,
} from '../store/status-pages.ts';
import { checkGroups, checkLogo, checkServices, checkSlug, checkTimezone } from './check-page.ts';
import { removeDomain, setDomain } from './page-domain.ts';

/** Pages per organization: a change may re-read each of them. */
const maxPagesPerOrganization = 100;

export type NewStatusPage = Body<typeof statusPages.createStatusPage>;
export type StatusPageChanges = Body<typeof statusPages.updateStatusPage>;

export async function addStatusPage(tx: Tx, actor: Actor, app: App, input: NewStatusPage): Promise<StatusPageRow> {
  const { slug, title, serviceIds, groups = [], timezone = 'UTC' } = input;
  checkTimezone(timezone);
  checkGroups(groups, serviceIds);
  const logo = input.logo === undefined ? undefined : checkLogo(input.logo);
  checkSlug(slug);
  await checkServices(tx, actor.org, serviceIds);
  if ((await countStatusPages(tx, actor.org)) >= maxPagesPerOrganization)
    conflict(`the organization has ${maxPagesPerOrganization} status pages, which is the most; delete one first`);

  const fields = {
    title,
    description: input.description ?? null,
    service_ids: serviceIds,
    groups,
    accent: input.accentColour ?? null,
    timezone,
  };
  const page = (await insertStatusPage(tx, actor.org, slug, fields, logo)) ?? conflict(`the slug ${slug} is taken; choose another one`);
  if (input.customDomain !== undefined) await setDomain(tx, app, actor, page, input.customDomain);
  await app.caches.drop(tx, statusPageTopic(slug));
  await audit(tx, actor, 'status.page.create', page, { slug, title, serviceIds });
  return page;
}

/** Changes the fields of a locked page that `changes` names; null removes a value. */
export async function changeStatusPage(tx: Tx, actor: Actor, app: App, page: StatusPageRow, changes: StatusPageChanges) {
  const fields = changedFields(page, changes);
  if (changes.timezone !== undefined) checkTimezone(changes.timezone);
  if (changes.groups || changes.serviceIds) checkGroups(fields.groups, fields.service_ids);
  const { logo: image, ...told } = changes;
  const logo = typeof image === 'string' ? checkLogo(image) : image;
  if (changes.serviceIds) await checkServices(tx, actor.org, changes.serviceIds, page.service_ids);

  if (changes.customDomain !== undefined) await setDomain(tx, app, actor, page, changes.customDomain);
  const changed = await updateStatusPage(tx, actor.org, page.id, fields, logo);
  await app.caches.drop(tx, statusPageTopic(page.slug));
  await audit(tx, actor, 'status.page.update', page, {
    ...told,
    ...(image === undefined ? {} : { logo: image === null ? 'removed' : 'set' }),
  });
  return changed;
}

const changedFields = (page: StatusPageRow, changes: StatusPageChanges): StatusPageFields => ({
  title: changes.title ?? page.title,
  description: changes.description === undefined ? page.description : changes.description,
  service_ids: changes.serviceIds ?? page.service_ids,
  groups: changes.groups ?? page.groups,
  accent: changes.accentColour === undefined ? page.accent : changes.accentColour,
  timezone: changes.timezone ?? page.timezone,
});

/** Deletes a locked page with its subscribers. */
export async function takeDownStatusPage(tx: Tx, actor: Actor, app: App, page: StatusPageRow): Promise<void> {
  await removeDomain(tx, actor.org, page.id);
  await deleteStatusPage(tx, actor.org, page.id);
  await app.caches.drop(tx, statusPageTopic(page.slug));
  await audit(tx, actor, 'status.page.delete', page, { slug: page.slug });
}
