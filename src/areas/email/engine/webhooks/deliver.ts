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
import { gatherCalls } from '../gather.ts';
import { disableForFailing } from './disable.ts';
import { longestSeconds, makePace, type Pace, type Place, type SentOff } from './pace.ts';

/** What deliveries share in this process. */
export interface Deliverer {
  pace: Pace;
  begin(asked: { id: number; run: string }): Promise<store.BegunRow | undefined>;
  settle(heard: Heard): Promise<store.SettledDelivery | undefined>;
  /** What else waits for this endpoint, or will in a moment, is sent off too: one statement for many, else each would be claimed in vain. */
  sendOffOthers(asked: { org: string; endpointId: string } & SentOff): Promise<void>;
  counted(outcome: 'delivered' | 'retried' | 'failed' | 'postponed', count?: number): void;
}

/** So many are looked at when others are sent off, and those that fall due so soon. */
const portion = { limit: 1_000, withinSeconds: 10 };
/** After each portion there is so many times as long for others' work, but no more than that. */
const rest = { times: 4, mostMs: 1_000 };
/** By then whatever was still on its way to the database has come, or never does. */
const lookAgainSeconds = 30;
const isSlow = 'its endpoint is slow, and has as many deliveries as it takes at once';

type Heard = store.Heard & { endpointId: string };

export function makeDeliverer({ db, watch }: Pick<App, 'db' | 'watch'>, counted: Deliverer['counted']): Deliverer {
  const pace = makePace();
  return { pace, ...makeAttempts({ db, watch }), sendOffOthers: makeSendOff(db, pace, counted), counted };
}

/** Many that begin or end one by one share a statement: each costs the database and us more than all that it does for one. */
const paceMs = { begin: 10, settle: 25 };

const makeAttempts = ({ db, watch }: Pick<App, 'db' | 'watch'>): Pick<Deliverer, 'begin' | 'settle'> => ({
  begin: gatherCalls(
    { watch },
    async (asked: { id: number; run: string }[]) => {
      const rows = await beginAttempts(db, asked);
      const begun = new Map(rows.map((b) => [b.run, b]));
      return asked.map(({ run }) => begun.get(run));
    },
    { name: 'email.begin-deliveries', paceMs: paceMs.begin },
  ),
  settle: gatherCalls(
    { watch },
    async (heard: Heard[]) => {
      const rows = await settleAttempts(db, heard);
      const settled = new Map(rows.map((s) => [s.id, s]));
      return heard.map(({ id }) => settled.get(id));
    },
    { name: 'email.settle-deliveries', paceMs: paceMs.settle },
  ),
});

/** Whoever asks while others of the endpoint are being sent off waits for that, and keeps its slot: so many claims in vain are spared. */
function makeSendOff(db: App['db'], pace: Pace, counted: Deliverer['counted']): Deliverer['sendOffOthers'] {
  const underWay = new Map<string, Promise<void>>();
  const sendOff: Deliverer['sendOffOthers'] = async ({ org, endpointId, inSeconds, eachSeconds }) => {
    const wanted = { ...portion, org, payload: { endpointId }, eachSeconds, mostSeconds: longestSeconds, why: isSlow };
    const began = performance.now();
    const others = await db.write((tx) => postponeMany(tx, deliverWebhook, { ...wanted, fromSeconds: inSeconds + eachSeconds }));
    pace.sentOff(endpointId, others);
    counted('postponed', others);
    if (others > 0) await sleep(Math.min(rest.times * (performance.now() - began), rest.mostMs));
  };
  return (asked) => {
    const running = underWay.get(asked.endpointId) ?? sendOff(asked).finally(() => underWay.delete(asked.endpointId));
    underWay.set(asked.endpointId, running);
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
async function settleAttempts(db: App['db'], heard: Heard[]): Promise<store.SettledDelivery[]> {
  const hasPlain = heard.some(({ error }) => error === null);
  const plain = hasPlain ? await db.read((tx) => store.settlePlainly(tx, heard)) : [];
  const done = new Set(plain.map(({ id }) => id));
  const rest = heard.filter(({ id }) => !done.has(id));
  if (rest.length === 0) return plain;
  const works = new Set(plain.map((s) => s.endpoint_id));
  return [...plain, ...(await db.write((tx) => settleRest(tx, rest, works)))];
}

/** With what follows for their messages and endpoints: one of whom something was just heard works. */
async function settleRest(tx: Tx, heard: Heard[], working: ReadonlySet<string>): Promise<store.SettledDelivery[]> {
  const settled = await store.settleDeliveries(tx, heard);
  const done = settled.filter((s) => s.state !== 'pending' && s.event_type === store.received);
  if (done.length) await settleReceived(tx, done.map(({ id }) => id)); // biome-ignore format: one thought
  const works = new Set([...working, ...settled.filter((s) => s.state === 'delivered').map((s) => s.endpoint_id)]);
  const mended = settled.filter((s) => works.has(s.endpoint_id) && s.failing_days !== null);
  const failing = settled.filter((s) => !works.has(s.endpoint_id));
  const fresh = failing.filter((s) => s.failing_days === null);
  if (mended.length) await noteWorking(tx, [...new Set(mended.map((s) => s.endpoint_id))]);
  if (fresh.length) await noteFailing(tx, [...new Set(fresh.map((s) => s.endpoint_id))]);
  const gone = new Set(heard.filter(({ status }) => status === 410).map(({ endpointId }) => endpointId));
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
    const place = await deliverer.pace.take(endpointId);
    if ('inSeconds' in place) {
      deliverer.counted('postponed');
      if (place.hangs) await deliverer.sendOffOthers({ org, endpointId, ...place });
      throw new RetryIn(place.inSeconds, isSlow);
    }
    const heard = await askOnce(app, deliverer, place, { id, signal }).finally(place.end);
    if (heard) await noteHeard(deliverer, heard);
  },
);

/** What the endpoint said; nothing, if there is nothing to tell it any more. */
async function askOnce(
  app: App,
  deliverer: Deliverer,
  place: Place,
  { id, signal }: { id: number; signal: AbortSignal },
): Promise<(Heard & { wait: number | undefined }) | undefined> {
  const begun = await deliverer.begin({ id, run: randomUUID() });
  if (!begun) return;
  if (begun.why_not !== null) return void deliverer.counted('failed');
  const secret = app.secrets.unseal(begun.secret!, `email.webhook.secret.${begun.endpoint_id}`);
  const told = { url: begun.url!, endpointId: begun.endpoint_id, secret, eventId: begun.event_id, at: begun.now, payload: begun.payload! };
  const reply = await place.ask(() => postEvent(app.guard, told, signal));
  const wait = waitAfter(reply, begun);
  const { status = null, error = null } = reply;
  return { ...{ id, run: begun.run, endpointId: begun.endpoint_id, status, error }, is_last: wait === undefined, wait };
}

/**
 * The place at the endpoint is free by then: what we write down is not its time. If it is not ours to write down, it is looked at again: it is
 * done, or the beginning of an earlier attempt, on which somebody had given up, took effect after that of this one, and nobody would end it.
 */
async function noteHeard(deliverer: Deliverer, { wait, ...heard }: Heard & { wait: number | undefined }): Promise<void> {
  const settled = await deliverer.settle(heard);
  if (!settled) throw new RetryIn(lookAgainSeconds, 'another attempt began meanwhile');
  if (settled.state !== 'pending') return deliverer.counted(settled.state);
  deliverer.counted('retried');
  throw new RetryIn(wait!, heard.error!);
}

/** Undefined: not again. */
function waitAfter({ status, retryAfter }: Reply, { attempts, now }: store.BegunRow): number | undefined {
  return status === 410 ? undefined : delayAfterAttempt(attempts, randomInt(2 ** 20) / 2 ** 20, readRetryAfter(retryAfter, now));
}
