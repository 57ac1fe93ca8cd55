import type { Ctx } from '../../../identity/context.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound } from '../../../kernel/errors.ts';
import * as store from '../store/incidents.ts';

/** The incident that a path names, if the caller may reach its service. */
export async function findIncident(tx: Tx, ctx: Ctx, id: string, find = store.incidentById) {
  const incident = (await find(tx, ctx.org, id)) ?? notFound('incident');
  ctx.require(incident.service_id);
  return incident;
}

/** The same with a lock until the transaction ends, for a change. */
export const lockIncident = (tx: Tx, ctx: Ctx, id: string) => findIncident(tx, ctx, id, store.lockIncident);

/** How the caller appears in timelines. */
export const actorOf = ({ user }: Ctx) => ({ kind: 'user', id: user.id, label: user.name || user.email });
