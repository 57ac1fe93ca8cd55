import type { Ctx } from '../../../../identity/context.ts';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, forbidden, invalid, notFound } from '../../../../kernel/errors.ts';
import { lockDomain } from '../../domains/engine/claims.ts';
import { topics } from '../../rules/topics.ts';
import { lockWebhook } from '../../webhooks/store/webhooks.ts';
import { foldPattern, isTooLong } from '../rules/routing.ts';
import * as store from '../store/routes.ts';

/** Each message is compared with all routes of its domain. */
const maxRoutesPerDomain = 500;

export interface NewRoute {
  domainId: string;
  pattern: string;
  endpointId: string;
}

/** Locks domain and endpoint, so that neither is deleted while the route is created. */
export async function createRoute(tx: Tx, ctx: Ctx, wanted: NewRoute): Promise<store.RouteRow> {
  if (isTooLong(wanted.pattern)) invalid('pattern must have at most 64 characters before the @; a prefix ends in a star');
  const domain = await lockDomain(tx, ctx, wanted.domainId, 'domainId');
  if (!(await lockWebhook(tx, ctx.org, wanted.endpointId))) notFound('endpointId: the organization has no such webhook endpoint');
  if (domain.receive_state === 'none')
    conflict(`${domain.name} is not armed for receiving; do that first (POST /email/domains/${domain.id}/receive)`);
  if ((await store.countRoutes(tx, domain.id)) >= maxRoutesPerDomain)
    forbidden(`${domain.name} has ${maxRoutesPerDomain} routes, as many as it may; delete one first`, { code: 'quota_reached' });
  const pattern = foldPattern(wanted.pattern);
  const made = await store.insertRoute(tx, ctx.org, { ...wanted, pattern });
  if (!made) return conflict(`${domain.name} has a route for ${pattern} already; delete it first`);
  await ctx.app.caches.drop(tx, topics.domain(domain.id));
  return made;
}

/** Locks a route of the caller's organization and checks the caller's right to its domain: 404 before 403. */
export async function lockRoute(tx: Tx, ctx: Ctx, id: string): Promise<store.RouteRow> {
  const route = (await store.lockRoute(tx, ctx.org, id)) ?? notFound('route');
  ctx.require(route.domain_id);
  return route;
}

export async function deleteRoute(tx: Tx, { caches }: App, org: string, route: store.RouteRow): Promise<void> {
  await store.deleteRoute(tx, org, route.id);
  await caches.drop(tx, topics.domain(route.domain_id));
}
