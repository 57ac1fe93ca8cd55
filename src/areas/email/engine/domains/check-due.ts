import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { unlessAborted } from '../../../../kernel/guard/index.ts';
import { channelNamed, wake } from '../../../../kernel/jobs/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { onBehalf } from '../../../../kernel/shares/index.ts';
import { now } from '../../../../kernel/time.ts';
import { afterAsking, afterCheck, findingOf, type SendStanding } from '../../rules/domain-state.ts';
import { topics } from '../../rules/topics.ts';
import * as store from '../../store/domain-checks.ts';
import type { DomainRow } from '../../store/domains.ts';
import { tellEndpoints } from '../webhooks/tell.ts';
import { lookUpRecords } from './look-up.ts';

/** The task that looks, by its name. */
export const checksDue = channelNamed('email.check-domains');

/** Looked up at once, of which an organization has a few: one whose name servers are slow does not hold up the others for long. */
const portion = { most: 32, perOrg: 4 };
/** Then the task ends well within its deadline, and goes on the next time. */
const mostMs = 240_000;

/** Every domain that is due, in portions, until none is: each that was looked at is due later, or was changed meanwhile. */
export async function checkDueDomains(app: App, signal: AbortSignal, log: Logger): Promise<void> {
  const until = performance.now() + mostMs;
  while (!signal.aborted && performance.now() < until) {
    const due = await app.db.read((tx) => store.dueDomains(tx, portion));
    if (!due.length) return;
    await Promise.all(due.map((domain) => onBehalf({ org: domain.org_id, act: checksDue }, () => checkDomain(app, domain, signal, log))));
  }
}

/** Looks outside of any transaction; what is written counts only if nothing has changed since the domain was read. */
async function checkDomain(app: App, domain: store.DueRow, signal: AbortSignal, log: Logger): Promise<void> {
  const finding = findingOf(await unlessAborted(signal, () => lookUpRecords(app, domain)));
  const after = await app.db.write(async (tx) => {
    const standing = afterCheck(standingOf(domain), finding, secondsOf(await now(tx)));
    if (!(await store.settleCheck(tx, domain, standing))) return undefined;
    if (standing.state !== domain.send_state) await tellChange(tx, app, domain, standing.state);
    return standing;
  });
  if (after && after.state !== domain.send_state)
    log.info(
      { event: 'email.domain', domain: domain.name, org: domain.org_id, from: domain.send_state, to: after.state },
      'a domain changed its state',
    );
}

/** To whoever remembers the domain, and to endpoints. */
async function tellChange(tx: Tx, { caches }: App, domain: Changed, sendState: SendStanding['state']): Promise<void> {
  const { org_id: org, id: domainId, name, send_state: previousSendState } = domain;
  await caches.drop(tx, topics.domain(domainId));
  await tellEndpoints(tx, [{ org, type: 'domain.updated', data: { domainId, name, sendState, previousSendState } }]);
}
type Changed = Pick<DomainRow, 'org_id' | 'id' | 'name' | 'send_state'>;

const secondsOf = (time: string) => Date.parse(time) / 1_000;
const standingOf = (row: Pick<DomainRow, 'send_state' | 'state_at' | 'misses' | 'missing_since'>): SendStanding => ({
  state: row.send_state,
  stateAt: secondsOf(row.state_at),
  misses: row.misses,
  missingSince: row.missing_since === null ? null : secondsOf(row.missing_since),
});

/** Somebody asks to look now. However often they ask, a domain is looked at once in ten seconds. */
export async function askForCheck(tx: Tx, app: App, domain: DomainRow): Promise<void> {
  const before = standingOf(domain);
  const standing = afterAsking(before, secondsOf(await now(tx)));
  await store.hurryCheck(tx, domain.org_id, domain.id, standing);
  if (standing.state !== before.state) await tellChange(tx, app, domain, standing.state);
  wake(tx, checksDue);
}
