import { audit, operator } from '../../../../identity/audit.ts';
import type { Ctx } from '../../../../identity/context.ts';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, forbidden, notFound } from '../../../../kernel/errors.ts';
import { enqueue, wake } from '../../../../kernel/jobs/index.ts';
import { topics } from '../../rules/topics.ts';
import { parentsOf } from '../rules/domain-name.ts';
import * as store from '../store/domains.ts';
import { checksDue } from './check-due.ts';
import type { DkimKeys } from './dkim-keys.ts';
import { failMailOfDomain } from './fail-mail.ts';

export const maxDomains = 100;

/** A domain of the caller's organization, after checking the caller's right to it: 404 before 403. */
export async function findDomain(tx: Tx, ctx: Ctx, id: string, find = store.domainById, field = ''): Promise<store.DomainRow> {
  const domain = (await find(tx, ctx.org, id)) ?? notFound(field ? `${field}: the organization has no such domain` : 'domain');
  ctx.require(domain.id);
  return domain;
}

/** The same with a row lock, for changes; `field` names the body field that the id came from. */
export const lockDomain = (tx: Tx, ctx: Ctx, id: string, field?: string) => findDomain(tx, ctx, id, store.lockDomain, field);

/** Whether the organization could register this name now. Checked before keys are generated. */
export async function isFree(tx: Tx, org: string, name: string): Promise<boolean> {
  const [claims, count] = await Promise.all([store.claimsAround(tx, name, parentsOf(name)), store.countDomains(tx, org)]);
  return count < maxDomains && !claims.some((claim) => blocksClaim(claim, org, name));
}

/** An organization registers a name once. Another organization's claim blocks it unless that claim failed and is no longer checked. */
const blocksClaim = (claim: store.ClaimRow, org: string, name: string) => (claim.org_id === org ? claim.name === name : !claim.is_over);

/**
 * Registers the name for the organization. An unverified claim covers its exact name alone: otherwise an organization that registers `co.uk`
 * would block every name below it.
 */
export async function createDomain(tx: Tx, app: App, org: string, name: string, keys: DkimKeys | undefined): Promise<store.DomainRow> {
  await store.lockQuota(tx, org);
  const [claims, count, id] = await Promise.all([
    store.claimsAround(tx, name, parentsOf(name)),
    store.countDomains(tx, org),
    store.newDomainId(tx),
  ]);
  if (count >= maxDomains)
    forbidden(`the organization has ${maxDomains} domains, as many as it may; delete one first`, { code: 'quota_reached' });
  const claim = claims.find((each) => blocksClaim(each, org, name));
  if (claim) refuseClaimed(claim, org, name);
  if (!keys) return conflict(`${name} was taken until a moment ago; try again`);
  for (const over of claims) if (over.name === name) await releaseClaim(tx, app, over);
  const sealed = (key: 'rsa' | 'ed') => ({
    ...keys[key],
    sealed: app.secrets.seal(keys[key].private, `email.domain.${key}_private.${id}`),
  });
  const made = await store.insertDomain(tx, org, { id, name, rsa: sealed('rsa'), ed: sealed('ed') });
  if (!made) return conflict(`${name} was registered by somebody else at the same moment`);
  wake(tx, checksDue);
  return made;
}

function refuseClaimed(claim: store.ClaimRow, org: string, name: string): void {
  if (claim.org_id === org) conflict(`${name} is registered already; delete it first to begin anew`);
  if (claim.name === name) conflict(`${name} is registered by another organization; its owner must delete it there first`);
  const where = name.endsWith(`.${claim.name}`) ? 'above' : 'below';
  conflict(`${claim.name}, which is ${where} ${name}, is verified by another organization; it must be deleted there first`);
}

/** Its organization sees the reason in its audit log. */
async function releaseClaim(tx: Tx, app: App, claim: store.ClaimRow): Promise<void> {
  await deleteDomain(tx, app, claim.org_id, claim);
  const why = 'it was not verified in time, and another organization registered it';
  await audit(tx, operator(claim.org_id), 'email.domain.release', claim, { name: claim.name, why });
}

/** Frees the name and deletes the routes. A job fails the mail that still waits, batch by batch. */
export async function deleteDomain(tx: Tx, { caches }: App, org: string, { id }: { id: string }): Promise<void> {
  await store.deleteDomain(tx, org, id);
  await store.deleteRoutesOf(tx, org, id);
  await enqueue(tx, failMailOfDomain, { key: id, org, payload: { org, domainId: id } });
  await caches.drop(tx, topics.domain(id));
}
