import { randomInt, randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import Type from 'typebox';
import type { App } from '../../../../kernel/app.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { job, postponeMany, RetryIn } from '../../../../kernel/jobs/index.ts';
import { postEvent, type Reply } from '../../clients/webhook.ts';
import { delayAfterAttempt, mostFailingDays, readRetryAfter } from '../../rules/webhook-retry.ts';
import * as store from '../../store/deliveries.ts';
import { settleReceived } from '../../store/receiving/arrivals.ts';
import { noteFailing, noteWorking } from '../../store/webhooks.ts';
import { batchCalls } from '../batch-calls.ts';
import { disableForFailing } from './disable.ts';
import { type DeliverySlot, type EndpointLimiter, makeEndpointLimiter, maxPostponeSeconds, type Postponement } from './endpoint-limiter.ts';

/** What deliveries share in this process. */
export interface Deliverer {
  limiter: EndpointLimiter;
  begin(asked: { id: number; run: string }): Promise<store.BegunRow | undefined>;
  settle(result: AttemptResult): Promise<store.SettledDelivery | undefined>;
  /** What else waits for this endpoint, or will in a moment, is sent off too: one statement for many, else each would be claimed in vain. */
  postponeOthers(asked: { org: string; endpointId: string } & Postponement): Promise<void>;
  onOutcome(outcome: 'delivered' | 'retried' | 'failed' | 'postponed', count?: number): void;
}

/** So many are looked at when others are sent off, and those that fall due so soon. */
const postponeBatch = { limit: 1_000, withinSeconds: 10 };
/** After each portion there is so many times as long for others' work, but no more than that. */
const postponePause = { times: 4, mostMs: 1_000 };
/** By then whatever was still on its way to the database has come, or never does. */
const recheckSeconds = 30;
const slowEndpointReason = 'its endpoint is slow, and has as many deliveries as it takes at once';

type AttemptResult = store.Heard & { endpointId: string };

export function makeDeliverer({ db, watch }: Pick<App, 'db' | 'watch'>, onOutcome: Deliverer['onOutcome']): Deliverer {
  const limiter = makeEndpointLimiter();
  return { limiter, ...makeAttempts({ db, watch }), postponeOthers: makePostponer(db, limiter, onOutcome), onOutcome };
}

/** Many that begin or end one by one share a statement: each costs the database and us more than all that it does for one. */
const batchIntervalMs = { begin: 10, settle: 25 };

const makeAttempts = ({ db, watch }: Pick<App, 'db' | 'watch'>): Pick<Deliverer, 'begin' | 'settle'> => ({
  begin: batchCalls(
    { watch },
    async (asked: { id: number; run: string }[]) => {
      const rows = await beginAttempts(db, asked);
      const begun = new Map(rows.map((b) => [b.run, b]));
      return asked.map(({ run }) => begun.get(run));
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

/** Whoever asks while others of the endpoint are being sent off waits for that, and keeps its slot: so many claims in vain are spared. */
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
    const others = await db.write((tx) => postponeMany(tx, deliverWebhook, { ...wanted, fromSeconds: retryInSeconds + spacingSeconds }));
    limiter.notePostponed(endpointId, others);
    onOutcome('postponed', others);
    if (others > 0) await sleep(Math.min(postponePause.times * (performance.now() - began), postponePause.mostMs));
  };
  return (asked) => {
    const running = inFlight.get(asked.endpointId) ?? postpone(asked).finally(() => inFlight.delete(asked.endpointId));
    inFlight.set(asked.endpointId, running);
    return running;
  };
}

/** One statement, and a transaction for those that cannot be made any more: they fail here. */
async function beginAttempts(db: App['db'], asked: readonly { id: number; run: string }[]): Promise<store.BegunRow[]> {
  const begun = await db.read((tx) => store.beginDeliveries(tx, asked));
  const over = begun.flatMap(({ id, why_not: why, event_type }) => (why === null ? [] : [{ id, why, event_type }]));
  if (over.length === 0) return begun;
  await db.write(async (tx) => {
    await store.failDeliveries(tx, over);
    const ours = over.filter(({ event_type }) => event_type === store.received);
    if (ours.length) await settleReceived(tx, ours.map(({ id }) => id)); // biome-ignore format: one thought
  });
  return begun;
}

/** What came of attempts. Those from which nothing else follows are one statement, the rest a transaction. */
async function settleAttempts(db: App['db'], results: AttemptResult[]): Promise<store.SettledDelivery[]> {
  const hasPlain = results.some(({ error }) => error === null);
  const plain = hasPlain ? await db.read((tx) => store.settlePlainly(tx, results)) : [];
  const done = new Set(plain.map(({ id }) => id));
  const rest = results.filter(({ id }) => !done.has(id));
  if (rest.length === 0) return plain;
  const works = new Set(plain.map((s) => s.endpoint_id));
  return [...plain, ...(await db.write((tx) => settleWithFollowUps(tx, rest, works)))];
}

/** With what follows for their messages and endpoints: one of whom something was just heard works. */
async function settleWithFollowUps(tx: Tx, results: AttemptResult[], working: ReadonlySet<string>): Promise<store.SettledDelivery[]> {
  const settled = await store.settleDeliveries(tx, results);
  const done = settled.filter((s) => s.state !== 'pending' && s.event_type === store.received);
  if (done.length) await settleReceived(tx, done.map(({ id }) => id)); // biome-ignore format: one thought
  const works = new Set([...working, ...settled.filter((s) => s.state === 'delivered').map((s) => s.endpoint_id)]);
  const mended = settled.filter((s) => works.has(s.endpoint_id) && s.failing_days !== null);
  const failing = settled.filter((s) => !works.has(s.endpoint_id));
  const fresh = failing.filter((s) => s.failing_days === null);
  if (mended.length) await noteWorking(tx, [...new Set(mended.map((s) => s.endpoint_id))]);
  if (fresh.length) await noteFailing(tx, [...new Set(fresh.map((s) => s.endpoint_id))]);
  const gone = new Set(results.filter(({ status }) => status === 410).map(({ endpointId }) => endpointId));
  const over = new Map<string, { org: string; reason: string }>();
  for (const { endpoint_id, org_id, failing_days } of settled) {
    if (gone.has(endpoint_id)) over.set(endpoint_id, { org: org_id, reason: 'it answered 410 Gone' });
    else if (!works.has(endpoint_id) && (failing_days ?? 0) >= mostFailingDays)
      over.set(endpoint_id, { org: org_id, reason: `nothing but failures for ${mostFailingDays} days` });
  }
  for (const [id, { org, reason }] of [...over].sort()) await disableForFailing(tx, org, id, reason);
  return settled;
}

/**
 * Tells one endpoint of one event, once; a failure comes back in its time. Run twice, it tells twice under one `webhook-id`: the row is
 * `delivering` while the request is under way, and whoever finds it so makes that attempt again.
 */
export const deliverWebhook = job(
  'email.deliver-webhook',
  {
    ...{ lane: 'webhook', leaseSeconds: 60, deadlineSeconds: 60 },
    // Attempts are counted in the row; here also counts every time that it waited for its endpoint, and every process that vanished.
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

/** What the endpoint said; nothing, if there is nothing to tell it any more. */
async function attemptDelivery(
  app: App,
  deliverer: Deliverer,
  slot: DeliverySlot,
  { id, signal }: { id: number; signal: AbortSignal },
): Promise<(AttemptResult & { wait: number | undefined }) | undefined> {
  const begun = await deliverer.begin({ id, run: randomUUID() });
  if (!begun) return;
  if (begun.why_not !== null) return void deliverer.onOutcome('failed');
  const secret = app.secrets.unseal(begun.secret!, `email.webhook.secret.${begun.endpoint_id}`);
  const event = { url: begun.url!, endpointId: begun.endpoint_id, secret, eventId: begun.event_id, at: begun.now, payload: begun.payload! };
  const reply = await slot.measure(() => postEvent(app.guard, event, signal));
  const wait = retryDelayAfter(reply, begun);
  const { status = null, error = null } = reply;
  return { ...{ id, run: begun.run, endpointId: begun.endpoint_id, status, error }, is_last: wait === undefined, wait };
}

/**
 * The place at the endpoint is free by then: what we write down is not its time. If it is not ours to write down, it is looked at again: it is
 * done, or the beginning of an earlier attempt, on which somebody had given up, took effect after that of this one, and nobody would end it.
 */
async function recordAttempt(deliverer: Deliverer, { wait, ...result }: AttemptResult & { wait: number | undefined }): Promise<void> {
  const settled = await deliverer.settle(result);
  if (!settled) throw new RetryIn(recheckSeconds, 'another attempt began meanwhile');
  if (settled.state !== 'pending') return deliverer.onOutcome(settled.state);
  deliverer.onOutcome('retried');
  throw new RetryIn(wait!, result.error!);
}

/** Undefined: not again. */
function retryDelayAfter({ status, retryAfter }: Reply, { attempts, now }: store.BegunRow): number | undefined {
  return status === 410 ? undefined : delayAfterAttempt(attempts, randomInt(2 ** 20) / 2 ** 20, readRetryAfter(retryAfter, now));
}
