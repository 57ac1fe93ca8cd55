import { type Actor, audit } from '../../../identity/audit.ts';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, invalid } from '../../../kernel/errors.ts';
import { channelNamed, wake } from '../../../kernel/jobs/index.ts';
import { isCertifiable } from '../../../kernel/tls/index.ts';
import { dropCertificate } from '../../certificates/index.ts';
import { mailHostOf } from '../../email/index.ts';
import { isBeside } from '../rules/domain-records.ts';
import * as store from '../store/domains.ts';
import type { StatusPageRow } from '../store/status-pages.ts';

/** Wakes the task that looks domains up, by its name. */
export const domainsDue = channelNamed('status.check-domains');

/** The host that domains of pages lead to. Undefined: the operator has given this server no public name. */
export function targetOf(app: Pick<App, 'config' | 'publicUrl'>): string | undefined {
  const { hostname } = new URL(app.config.status_url || app.config.public_url || 'http://localhost');
  return isCertifiable(hostname) ? hostname : undefined;
}

/** As it is stored: lower case, without a dot at its end. */
function readName(app: App, text: string): string {
  const name = text.trim().toLowerCase().replace(/\.$/, '');
  if (!isCertifiable(name)) invalid(`customDomain: ${name} is no name that the DNS could lead here; write one such as status.example.com`);
  const { cluster_domain } = app.config;
  const isOurs = ownHosts(app).includes(name) || (cluster_domain !== '' && `.${name}`.endsWith(`.${cluster_domain}`));
  if (isOurs) invalid(`customDomain: ${name} is a name of this server itself; use a domain of yours, such as status.example.com`);
  return name;
}

function ownHosts(app: Pick<App, 'config'>): string[] {
  const { public_url, status_url } = app.config;
  return [...[public_url, status_url].flatMap((url) => (url ? [new URL(url).hostname] : [])), mailHostOf(app)];
}

/** Gives a page its domain, another one, or none. It serves readers once the DNS leads it here. */
export async function setDomain(tx: Tx, app: App, actor: Actor, page: StatusPageRow, wanted: string | null): Promise<void> {
  const before = await store.findDomain(tx, actor.org, page.id);
  const name = wanted === null ? undefined : readName(app, wanted);
  if (before?.name === name) return;
  if (name !== undefined && targetOf(app) === undefined)
    conflict('this server has no public name that a domain could lead to; the operator must set QUARTERDECK_PUBLIC_URL');
  if (before) await removeDomain(tx, actor.org, page.id);
  if (name === undefined) return;
  await store.lockName(tx, name);
  const [claims, owner] = [await store.claimsOf(tx, name), await store.findOwner(tx, name)];
  const isContested = isContestedFor(app, actor.org, name, { claims, owner });
  const made = await store.insertDomain(tx, { org_id: actor.org, page_id: page.id, name, is_contested: isContested });
  if (!made) conflict(`another status page of the organization has the domain ${name}; take it away there first`);
  await store.markContested(tx, name, actor.org);
  await audit(tx, actor, 'status.page.domain', page, { name });
  wake(tx, domainsDue);
}

interface Claims {
  claims: readonly store.DomainRow[];
  owner: { org_id: string } | undefined;
}

/**
 * The alias alone is no proof: another organization has claimed the name, or had it last, or it stands beside our own hosts, where the operator
 * may have aliases that were never meant for a page.
 */
export const isContestedFor = (app: Pick<App, 'config'>, org: string, name: string, { claims, owner }: Claims): boolean =>
  claims.some((claim) => claim.org_id !== org) || (owner !== undefined && owner.org_id !== org) || isBeside(name, ownHosts(app));

/** Its owner has published the records. */
export async function askForLook(tx: Tx, actor: Actor, page: StatusPageRow): Promise<void> {
  const domain = await store.findDomain(tx, actor.org, page.id);
  if (!domain) return conflict('the status page has no domain of its own; set customDomain first');
  await store.checkSoon(tx, domain);
  await audit(tx, actor, 'status.page.check-domain', page, { name: domain.name });
  wake(tx, domainsDue);
}

/** With its certificate. Whose the name was stays known. */
export async function removeDomain(tx: Tx, org: string, pageId: string): Promise<void> {
  const removed = await store.deleteDomain(tx, org, pageId);
  if (!removed) return;
  await dropCertificate(tx, org, removed.name);
  await store.notifyHosts(tx);
}
