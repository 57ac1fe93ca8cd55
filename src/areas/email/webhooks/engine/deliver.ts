/**
 * Webhooks: from an event to a signed request at each subscribed endpoint.
 *
 * Actors: `emitEvents` (emit-events.ts), called by the transactions that settle outcomes, apply reports, record arrivals, or change domains,
 * suppressions and pauses; the jobs of the lane `webhook`, one per delivery; the `Deliverer` of each process, with the endpoint limiter.
 *
 * Flow: `emitEvents` writes event, deliveries and jobs in the caller's transaction → a job takes a slot of its endpoint (endpoint-limiter.ts) → the attempt
 * begins (row `delivering`) → signed POST → the slot is released → the attempt is settled. Beginnings and settlements are batched, one statement each.
 * A delivery without a slot within a second is postponed; for a hanging endpoint the others are postponed with it, in one statement.
 *
 * States of a delivery: pending → delivering → delivered, or pending again until the next attempt, or failed after the last one. 410 disables the endpoint
 * at once, and days of nothing but failures do too (disable.ts); waiting deliveries then fail with the reason.
 *
 * What survives: rows and jobs. After a kill another process repeats the attempt under the same `webhook-id`; the repetition counts as the same attempt.
 */

import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { hintEach, job, postponeMany, RetryIn } from '../../../../kernel/jobs/index.ts';
import { batchCalls } from '../../engine/batch-calls.ts';
import { postEvent, type WebhookReply } from '../clients/webhook.ts';
import { delayAfterAttempt, maxFailingDays, readRetryAfter } from '../rules/webhook-retry.ts';
import * as store from '../store/deliveries.ts';
import { noteFailing, noteWorking } from '../store/webhooks.ts';
import { disableForFailing } from './disable.ts';
import { type DeliverySlot, type EndpointLimiter, makeEndpointLimiter, maxPostponeSeconds, type Postponement } from './endpoint-limiter.ts';

/** State shared by all deliveries of this process. */
export interface Deliverer {
  limiter: EndpointLimiter;
  begin(request: { id: number; run: string }): Promise<store.StartedAttemptRow | undefined>;
  settle(result: AttemptResult): Promise<store.SettledDelivery | undefined>;
  /** Postpones the other deliveries to a hanging endpoint in one statement. Otherwise each would be claimed in vain. */
  postponeOthers(request: { org: string; endpointId: string } & Postponement): Promise<void>;
  onOutcome(outcome: 'delivered' | 'retried' | 'failed' | 'postponed', count?: number): void;
}

/** One statement postpones at most `limit` deliveries, those due within `withinSeconds`. */
const postponeBatch = { limit: 1_000, withinSeconds: 10 };
/** After each statement, a pause of `times` its duration for other work, at most `maxMs`. */
const postponePause = { times: 4, maxMs: 1_000 };
/** By then a late statement of an earlier attempt has reached the database, or never will. */
const recheckSeconds = 30;
const slowEndpointReason = 'its endpoint is slow, and has as many deliveries as it takes at once';

type AttemptResult = store.AttemptResult & { endpointId: string };

export function makeDeliverer({ db, watch }: Pick<App, 'db' | 'watch'>, onOutcome: Deliverer['onOutcome']): Deliverer {
  const limiter = makeEndpointLimiter();
  return { limiter, ...makeAttempts({ db, watch }), postponeOthers: makePostponer(db, limiter, onOutcome), onOutcome };
}

/** Attempts that begin or end within this time share a statement, whose fixed cost exceeds the cost per attempt. */
const batchIntervalMs = { begin: 10, settle: 25 };

const makeAttempts = ({ db, watch }: Pick<App, 'db' | 'watch'>): Pick<Deliverer, 'begin' | 'settle'> => ({
  begin: batchCalls(
    { watch },
    async (requests: { id: number; run: string }[]) => {
      const rows = await beginAttempts(db, requests);
      const started = new Map(rows.map((b) => [b.run, b]));
      return requests.map(({ run }) => started.get(run));
    },
    { name: 'email.begin-deliveries', minIntervalMs: batchIntervalMs.begin },
  ),
  settle: batchCalls(
    { watch },
    async (results: AttemptResult[]) => {
      const rows = await settleAttempts(db, results);
      const settled = new Map(rows.map((s) => [s.id, s]));
      return results.map(({ id }) => settled.get(id));
    },
    { name: 'email.settle-deliveries', minIntervalMs: batchIntervalMs.settle },
  ),
});

/** A delivery that finds a postponement of its endpoint running waits for it and keeps its worker slot, which saves claims in vain. */
function makePostponer(db: App['db'], limiter: EndpointLimiter, onOutcome: Deliverer['onOutcome']): Deliverer['postponeOthers'] {
  const inFlight = new Map<string, Promise<void>>();
  const postpone: Deliverer['postponeOthers'] = async ({ org, endpointId, retryInSeconds, spacingSeconds }) => {
    const wanted = {
      ...postponeBatch,
      org,
      payload: { endpointId },
      eachSeconds: spacingSeconds,
      mostSeconds: maxPostponeSeconds,
      why: slowEndpointReason,
    };
    const began = performance.now();
    const postponedCount = await db.write((tx) =>
      postponeMany(tx, deliverWebhook, { ...wanted, fromSeconds: retryInSeconds + spacingSeconds }),
    );
    limiter.notePostponed(endpointId, postponedCount);
    onOutcome('postponed', postponedCount);
    if (postponedCount > 0) await sleep(Math.min(postponePause.times * (performance.now() - began), postponePause.maxMs));
  };
  return (request) => {
    const running = inFlight.get(request.endpointId) ?? postpone(request).finally(() => inFlight.delete(request.endpointId));
    inFlight.set(request.endpointId, running);
    return running;
  };
}

/** Begins attempts in one statement. Deliveries that can no longer be made fail in a transaction. */
async function beginAttempts(db: App['db'], requests: readonly { id: number; run: string }[]): Promise<store.StartedAttemptRow[]> {
  const started = await db.read((tx) => store.beginDeliveries(tx, requests));
  const impossible = started.flatMap(({ id, org_id, why_not: why, event_type }) => (why === null ? [] : [{ id, org_id, why, event_type }]));
  if (impossible.length === 0) return started;
  await db.write(async (tx) => {
    hintEach(
      tx,
      impossible.map(({ org_id }) => org_id),
      'email.webhook',
      'email.message',
    );
    await store.failDeliveries(tx, impossible);
    const ours = impossible.filter(({ event_type }) => event_type === store.receivedEventType);
    if (ours.length) await store.settleReceived(tx, ours.map(({ id }) => id)); // biome-ignore format: one thought
  });
  return started;
}

/** Settles attempts: plain successes in one statement, the rest in a transaction. */
async function settleAttempts(db: App['db'], results: AttemptResult[]): Promise<store.SettledDelivery[]> {
  const hasPlain = results.some(({ error }) => error === null);
  const plain = hasPlain ? await db.read(async (tx) => hintSettled(tx, await store.settleSimpleSuccesses(tx, results))) : [];
  const done = new Set(plain.map(({ id }) => id));
  const rest = results.filter(({ id }) => !done.has(id));
  if (rest.length === 0) return plain;
  const works = new Set(plain.map((s) => s.endpoint_id));
  return [...plain, ...(await db.write((tx) => settleWithFollowUps(tx, rest, works)))];
}

function hintSettled(tx: Tx, settled: store.SettledDelivery[]): store.SettledDelivery[] {
  hintEach(
    tx,
    settled.map(({ org_id }) => org_id),
    'email.webhook',
  );
  // A received message takes the outcome of its delivery.
  hintEach(
    tx,
    settled.flatMap(({ org_id, event_type }) => (event_type === store.receivedEventType ? [org_id] : [])),
    'email.message',
  );
  return settled;
}

/** Settles attempts together with their messages and endpoints. An endpoint that just answered another delivery counts as working. */
async function settleWithFollowUps(tx: Tx, results: AttemptResult[], working: ReadonlySet<string>): Promise<store.SettledDelivery[]> {
  const settled = hintSettled(tx, await store.settleDeliveries(tx, results));
  const done = settled.filter((s) => s.state !== 'pending' && s.event_type === store.receivedEventType);
  if (done.length) await store.settleReceived(tx, done.map(({ id }) => id)); // biome-ignore format: one thought
  const works = new Set([...working, ...settled.filter((s) => s.state === 'delivered').map((s) => s.endpoint_id)]);
  const mended = settled.filter((s) => works.has(s.endpoint_id) && s.failing_days !== null);
  const failing = settled.filter((s) => !works.has(s.endpoint_id));
  const fresh = failing.filter((s) => s.failing_days === null);
  if (mended.length) await noteWorking(tx, [...new Set(mended.map((s) => s.endpoint_id))]);
  if (fresh.length) await noteFailing(tx, [...new Set(fresh.map((s) => s.endpoint_id))]);
  const gone = new Set(results.filter(({ status }) => status === 410).map(({ endpointId }) => endpointId));
  const toDisable = new Map<string, { org: string; reason: string }>();
  for (const { endpoint_id, org_id, failing_days } of settled) {
    if (gone.has(endpoint_id)) toDisable.set(endpoint_id, { org: org_id, reason: 'it answered 410 Gone' });
    else if (!works.has(endpoint_id) && (failing_days ?? 0) >= maxFailingDays)
      toDisable.set(endpoint_id, { org: org_id, reason: `nothing but failures for ${maxFailingDays} days` });
  }
  for (const [id, { org, reason }] of [...toDisable].sort()) await disableForFailing(tx, org, id, reason);
  return settled;
}

/**
 * Delivers one event to one endpoint; a failure is retried on schedule. The row is `delivering` during the request. A worker that finds it so
 * repeats the attempt, so an endpoint may get an event twice, under the same `webhook-id`.
 */
export const deliverWebhook = job(
  'email.deliver-webhook',
  {
    lane: 'webhook',
    leaseSeconds: 60,
    deadlineSeconds: 60,
    // Attempts are counted in the row. The job's own count includes every postponement and every lost worker.
    maxAttempts: 100_000,
    payload: Type.Object({ id: Type.Integer(), endpointId: Type.String() }),
  },
  async ({ app, org = '-', payload: { id, endpointId }, signal }, { deliverer }: { deliverer: Deliverer }) => {
    const slot = await deliverer.limiter.acquire(endpointId);
    if ('retryInSeconds' in slot) {
      deliverer.onOutcome('postponed');
      if (slot.isHanging) await deliverer.postponeOthers({ org, endpointId, ...slot });
      throw new RetryIn(slot.retryInSeconds, slowEndpointReason);
    }
    const result = await attemptDelivery(app, deliverer, slot, { id, signal }).finally(slot.release);
    if (result) await recordAttempt(deliverer, result);
  },
);

/** The endpoint's answer; undefined if the delivery can no longer be made. */
async function attemptDelivery(
  app: App,
  deliverer: Deliverer,
  slot: DeliverySlot,
  { id, signal }: { id: number; signal: AbortSignal },
): Promise<(AttemptResult & { wait: number | undefined }) | undefined> {
  const started = await deliverer.begin({ id, run: randomUUID() });
  if (!started) return;
  if (started.why_not !== null) return void deliverer.onOutcome('failed');
  const secret = app.secrets.unseal(started.secret!, `email.webhook.secret.${started.endpoint_id}`);
  const event = {
    url: started.url!,
    endpointId: started.endpoint_id,
    secret,
    eventId: started.event_id,
    at: started.now,
    payload: started.payload!,
  };
  const reply = await slot.measure(() => postEvent(app.guard, event, signal));
  const wait = retryDelayAfter(reply, started);
  const { status = null, error = null } = reply;
  return { id, run: started.run, endpointId: started.endpoint_id, status, error, is_last: wait === undefined, wait };
}

/**
 * Runs after the endpoint's slot was released: our own writes are not the endpoint's time. If the row is not this attempt's any more, it is
 * checked again later: either it is done, or the late start of an earlier attempt overwrote this one and no worker would finish it.
 */
async function recordAttempt(deliverer: Deliverer, { wait, ...result }: AttemptResult & { wait: number | undefined }): Promise<void> {
  const settled = await deliverer.settle(result);
  if (!settled) throw new RetryIn(recheckSeconds, 'another attempt began meanwhile');
  if (settled.state !== 'pending') return deliverer.onOutcome(settled.state);
  deliverer.onOutcome('retried');
  throw new RetryIn(wait!, result.error!);
}

/** Undefined: no retry. */
function retryDelayAfter({ status, retryAfter }: WebhookReply, { attempts, now }: store.StartedAttemptRow): number | undefined {
  return status === 410 ? undefined : delayAfterAttempt(attempts, randomInt(2 ** 20) / 2 ** 20, readRetryAfter(retryAfter, now));
}
