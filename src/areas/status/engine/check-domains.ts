import { audit, operator } from '../../../identity/audit.ts';
import type { App } from '../../../kernel/app.ts';
import { isUnavailable, type Tx } from '../../../kernel/db/index.ts';
import type { DnsAnswer } from '../../../kernel/dns/index.ts';
import { runFor } from '../../../kernel/fairness/index.ts';
import { unlessAborted } from '../../../kernel/guard/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { now } from '../../../kernel/time.ts';
import { dropCertificate, wantCertificate } from '../../certificates/index.ts';
import { statusPageTopic } from '../rules/addresses.ts';
import { judgeAlias, judgeProof, proofName, type RecordFinding, recordsOf } from '../rules/domain-records.ts';
import { afterLook, type DomainStatus, nextLookIn } from '../rules/domain-state.ts';
import * as store from '../store/domains.ts';
import { findStatusPageById } from '../store/status-pages.ts';
import { domainsDue, isContestedFor, targetOf } from './page-domain.ts';

const batch = { most: 32, perOrg: 4 };
const maxRunMs = 120_000;
const lookTimeoutMs = 10_000;

/** Looks due domains up, batch by batch. A domain that was looked at is due later, or was taken away meanwhile. */
export async function checkDomains(app: App, signal: AbortSignal, log: Logger): Promise<void> {
  const until = performance.now() + maxRunMs;
  while (!signal.aborted && performance.now() < until) {
    const due = await app.db.read((tx) => store.dueDomains(tx, batch));
    if (!due.length) return;
    await Promise.all(
      due.map((domain) => runFor({ org: domain.org_id, operation: domainsDue }, () => checkDomain(app, domain, signal, log))),
    );
  }
}

/** What the DNS says of a domain: whether it leads here, and its proof if there is one. */
interface Look {
  alias: RecordFinding;
  proof: RecordFinding;
}

async function checkDomain(app: App, domain: store.DomainRow, signal: AbortSignal, log: Logger): Promise<void> {
  const found = await unlessAborted(signal, () => lookUp(app, domain));
  const after = await app.db
    .write((tx) => settle(tx, app, domain, found))
    .catch(async (error) => {
      if (isUnavailable(error)) throw error;
      // One that cannot be settled must not stand first in every batch.
      log.error(
        { err: error, event: 'status.domain-failed', name: domain.name, org: domain.org_id },
        'a page’s domain could not be settled',
      );
      await app.db.write((tx) => store.checkLater(tx, domain));
      return undefined;
    });
  if (after && after.state !== domain.state)
    log.info(
      { event: 'status.domain', name: domain.name, org: domain.org_id, from: domain.state, to: after.state },
      'a page’s domain changed its state',
    );
}

async function lookUp(app: App, { org_id, name }: store.DomainRow): Promise<Look> {
  const target = targetOf(app);
  if (target === undefined) return { alias: { type: 'CNAME', outcome: 'error' }, proof: { type: 'TXT', outcome: 'error' } };
  const signal = AbortSignal.timeout(lookTimeoutMs);
  const orTimeout = (asked: Promise<DnsAnswer>) => asked.catch((): DnsAnswer => timeoutAnswer);
  const atSource = (at: string, type: 'CNAME' | 'TXT') => orTimeout(app.dns.lookupAtSource(at, type, { signal }));
  const lookup = (at: string, type: 'A' | 'AAAA') => orTimeout(app.dns.lookup(at, type, { signal }));
  const [alias, proof, a, aaaa, ourA, ourAaaa] = await Promise.all([
    atSource(name, 'CNAME'),
    atSource(proofName(name), 'TXT'),
    ...[name, target].flatMap((at) => [lookup(at, 'A'), lookup(at, 'AAAA')]),
  ]);
  const [, txt] = recordsOf({ org: org_id, name, isContested: true }, target);
  return { alias: judgeAlias(target, alias!, [a!, aaaa!], [ourA!, ourAaaa!]), proof: judgeProof(txt!.value, proof!) };
}

const timeoutAnswer: DnsAnswer = { outcome: 'timeout', records: [], aliases: [], ttl: 0, authentic: false, server: '' };

const secondsOf = (time: string) => Date.parse(time) / 1_000;
const timeOf = (seconds: number) => new Date(seconds * 1_000).toISOString();

/** Decides with every claim of the name locked, so that two organizations never both have it. */
async function settle(tx: Tx, app: App, before: store.DomainRow, { alias, proof }: Look): Promise<store.DomainRow | undefined> {
  const { name, org_id: org } = before;
  await store.lockName(tx, name);
  const claims = await store.claimsOf(tx, name);
  const domain = claims.find(({ org_id, page_id }) => org_id === org && page_id === before.page_id);
  if (!domain) return undefined;
  const isContested = domain.state !== 'verified' && isContestedFor(app, org, name, { claims, owner: await store.findOwner(tx, name) });
  const findings = isContested ? [alias, proof] : [alias];
  const at = secondsOf(await now(tx));
  const after = afterLook(statusOf(domain), findings, at);
  if (after.state === 'verified' && domain.state !== 'verified') await takeOver(tx, app, domain, claims);
  const settled = await store.settleCheck(tx, domain, {
    ...after,
    stateAt: timeOf(after.stateAt),
    missingSince: after.missingSince === null ? null : timeOf(after.missingSince),
    isContested,
    observed: findings,
    nextInSeconds: nextLookIn(after, at),
  });
  if (settled && settled.state !== domain.state) await publish(tx, app, settled);
  // Ordered only for a name that leads here. At each look: it may have been a host of the installation until the settings changed.
  if (settled?.state === 'verified') await wantCertificate(tx, app, org, name);
  return settled;
}

const statusOf = (row: store.DomainRow): DomainStatus => ({
  state: row.state,
  stateAt: secondsOf(row.state_at),
  misses: row.misses,
  missingSince: row.missing_since === null ? null : secondsOf(row.missing_since),
});

/** The organization that proved the name has it. Another that had it sees why in its audit log. */
async function takeOver(tx: Tx, app: App, domain: store.DomainRow, claims: readonly store.DomainRow[]): Promise<void> {
  for (const claim of claims) {
    if (claim.org_id === domain.org_id || claim.state !== 'verified') continue;
    await store.loseDomain(tx, claim);
    await dropCertificate(tx, claim.org_id, claim.name);
    const why = 'another organization published the proof that the name is its own';
    await audit(tx, operator(claim.org_id), 'status.page.domain-lost', { id: claim.page_id }, { name: claim.name, why });
    await dropPage(tx, app, claim);
  }
  await store.keepOwner(tx, domain.name, domain.org_id);
  await store.trimOwners(tx, domain.org_id);
}

async function publish(tx: Tx, app: App, domain: store.DomainRow): Promise<void> {
  if (domain.state !== 'verified') await dropCertificate(tx, domain.org_id, domain.name);
  await store.notifyHosts(tx);
  await dropPage(tx, app, domain);
}

async function dropPage(tx: Tx, { caches }: App, { org_id, page_id }: store.DomainRow): Promise<void> {
  const page = await findStatusPageById(tx, org_id, page_id);
  if (page) await caches.drop(tx, statusPageTopic(page.slug));
}
