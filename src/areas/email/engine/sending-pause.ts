import { type Actor, audit, operator } from '../../../identity/audit.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import { judgeRates } from '../rules/posture.ts';
import * as store from '../store/posture.ts';
import { queueChannel } from './queue/channel.ts';
import { emitEvents } from './webhooks/emit-events.ts';

/** Null: the default of the installation. */
export async function setDailyQuota(tx: Tx, actor: Actor, quota: number | null): Promise<void> {
  await store.setQuota(tx, actor.org, quota);
  await audit(tx, actor, 'email.sending.quota', { id: actor.org }, { dailyQuota: quota });
}

/** Nothing new is accepted, and what is queued waits. False: it was paused already, and the first reason stays. */
export async function pauseSending(tx: Tx, actor: Actor, reason: string): Promise<boolean> {
  if ((await store.pauseSending(tx, actor.org, reason)) === 0) return false;
  await audit(tx, actor, 'email.sending.pause', { id: actor.org }, { reason });
  await emitEvents(tx, [{ org: actor.org, type: 'sending.paused', data: { reason } }]);
  wake(tx, queueChannel);
  return true;
}

/** What waited goes on. False: it was not paused. */
export async function resumeSending(tx: Tx, actor: Actor): Promise<boolean> {
  if ((await store.resumeSending(tx, actor.org)) === 0) return false;
  await audit(tx, actor, 'email.sending.resume', { id: actor.org });
  await emitEvents(tx, [{ org: actor.org, type: 'sending.resumed', data: {} }]);
  wake(tx, queueChannel);
  return true;
}

/**
 * Judges organizations of which somebody just bounced hard or complained, in that transaction: whoever comes too near to the limits is warned
 * once, whoever reaches one is paused. What counts is in rows by the hour, whose lock makes two that judge at once see each other.
 */
export async function pauseIfOverLimits(tx: Tx, orgs: readonly string[]): Promise<void> {
  if (orgs.length === 0) return;
  for (const figures of await store.findFigures(tx, [...new Set(orgs)])) {
    const { posture, reason } = judgeRates(figures);
    if (posture === 'pause' && !figures.is_paused) await pauseSending(tx, operator(figures.org_id), reason);
    const isNear = posture !== 'fine';
    if (isNear === figures.is_warned || (await store.markWarned(tx, figures.org_id, isNear)) === 0) continue;
    if (posture === 'warn') await audit(tx, operator(figures.org_id), 'email.sending.warn', { id: figures.org_id }, { reason });
  }
}
