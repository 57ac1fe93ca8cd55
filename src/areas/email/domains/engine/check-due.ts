import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { runFor } from '../../../../kernel/fairness/index.ts';
import { unlessAborted } from '../../../../kernel/guard/index.ts';
import { channelNamed, wake } from '../../../../kernel/jobs/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { now } from '../../../../kernel/time.ts';
import { topics } from '../../rules/topics.ts';
import { emitEvents } from '../../webhooks/engine/emit-events.ts';
import type { Observation } from '../rules/dns-defects.ts';
import { afterCheck, afterRecheckRequest, earlierCheck, findingOf, type VerificationStatus } from '../rules/domain-state.ts';
import * as store from '../store/domain-checks.ts';
import type { DomainRow } from '../store/domains.ts';
import { lookUpRecords } from './look-up.ts';

/** The channel that wakes the task, by the task's name. */
export const checksDue = channelNamed('email.check-domains');

/** Concurrent lookups in total and per organization: slow name servers of one organization do not delay the others for long. */
const lookupBatch = { most: 32, perOrg: 4 };
/** The task stops after this, well within its deadline, and continues in its next run. */
const maxRunMs = 240_000;

/** Checks due domains in batches until none is due. A checked domain is due later, or was changed meanwhile. */
export async function checkDueDomains(app: App, signal: AbortSignal, log: Logger): Promise<void> {
  const until = performance.now() + maxRunMs;
  while (!signal.aborted && performance.now() < until) {
    const due = await app.db.read((tx) => store.dueDomains(tx, lookupBatch));
    if (!due.length) return;
    await Promise.all(
      due.map((domain) => runFor({ org: domain.org_id, operation: checksDue }, () => checkDomain(app, domain, signal, log))),
    );
  }
}

/** Looks up outside any transaction. The result counts only if the domain has not changed since it was read. */
async function checkDomain(app: App, domain: store.DueRow, signal: AbortSignal, log: Logger): Promise<void> {
  const observed = await unlessAborted(signal, () => lookUpRecords(app, domain));
  const after = await app.db.write(async (tx) => {
    const checked = judge(domain, observed, secondsOf(await now(tx)));
    if (!(await store.settleCheck(tx, domain, checked))) return undefined;
    await publishChange(tx, app, domain, statesOf(checked));
    return statesOf(checked);
  });
  if (after && isChanged(domain, after))
    log.info(
      { event: 'email.domain', domain: domain.name, org: domain.org_id, from: domain.send_state, to: after.send, receive: after.receive },
      'a domain changed its state',
    );
}

/** Sending and receiving depend on different records, by the same rules. */
function judge(domain: store.DueRow, observed: readonly Observation[], at: number): store.CheckResult {
  const send = afterCheck(sendingOf(domain), findingOf(observed, 'send'), at);
  const before = receivingOf(domain);
  const receive = before && afterCheck(before, findingOf(observed, 'receive'), at);
  return { send, receive, nextIn: earlierCheck(send.nextIn, receive ? receive.nextIn : null) };
}

interface States {
  send: VerificationStatus['state'];
  /** Undefined: not armed. */
  receive: VerificationStatus['state'] | undefined;
}
const statesOf = ({ send, receive }: { send: VerificationStatus; receive: VerificationStatus | undefined }): States => ({
  send: send.state,
  receive: receive?.state,
});

type CheckedDomain = Pick<
  DomainRow,
  | 'org_id'
  | 'id'
  | 'name'
  | 'send_state'
  | 'state_at'
  | 'misses'
  | 'missing_since'
  | 'receive_state'
  | 'receive_state_at'
  | 'receive_misses'
  | 'receive_missing_since'
>;

const isChanged = (domain: CheckedDomain, { send, receive }: States) =>
  send !== domain.send_state || (receive !== undefined && receive !== domain.receive_state);

/** Drops cache entries of the domain and emits `domain.updated`. */
async function publishChange(tx: Tx, { caches }: App, domain: CheckedDomain, after: States): Promise<void> {
  if (!isChanged(domain, after)) return;
  const { org_id: org, id: domainId, name } = domain;
  await caches.drop(tx, topics.domain(domainId));
  const receiving = after.receive === undefined ? {} : { receiveState: after.receive, previousReceiveState: domain.receive_state };
  const data = { domainId, name, sendState: after.send, previousSendState: domain.send_state, ...receiving };
  await emitEvents(tx, [{ org, type: 'domain.updated', data }]);
}

const secondsOf = (time: string) => Date.parse(time) / 1_000;
const secondsOrNull = (time: string | null) => (time === null ? null : secondsOf(time));
const sendingOf = (row: CheckedDomain): VerificationStatus => ({
  state: row.send_state,
  stateAt: secondsOf(row.state_at),
  misses: row.misses,
  missingSince: secondsOrNull(row.missing_since),
});
const receivingOf = (row: CheckedDomain): VerificationStatus | undefined =>
  row.receive_state === 'none'
    ? undefined
    : {
        state: row.receive_state,
        stateAt: secondsOrNull(row.receive_state_at) ?? 0,
        misses: row.receive_misses,
        missingSince: secondsOrNull(row.receive_missing_since),
      };

/** A caller requests a check now. A domain is checked at most once in ten seconds. */
export async function askForCheck(tx: Tx, app: App, domain: DomainRow): Promise<void> {
  const at = secondsOf(await now(tx));
  const send = afterRecheckRequest(sendingOf(domain), at);
  const before = receivingOf(domain);
  const receive = before && afterRecheckRequest(before, at);
  await store.requestCheck(tx, domain.org_id, domain.id, send, receive);
  await publishChange(tx, app, domain, statesOf({ send, receive }));
  wake(tx, checksDue);
}
