import { type Actor, audit, operator } from '../../../../identity/audit.ts';
import type { Tx } from '../../../../kernel/db/index.ts';
import { hint, wake } from '../../../../kernel/jobs/index.ts';
import { queueChannel } from '../../engine/channels.ts';
import { emitEvents } from '../../webhooks/engine/emit-events.ts';
import { judgeRates } from '../rules/sending-pause.ts';
import * as store from '../store/sending-pause.ts';

/** `null`: the installation's default. */
export async function setDailyQuota(tx: Tx, actor: Actor, quota: number | null): Promise<void> {
  await store.setQuota(tx, actor.org, quota);
  await audit(tx, actor, 'email.sending.quota', { id: actor.org }, { dailyQuota: quota });
}

/** No new mail is accepted, and queued mail waits. False: sending was paused already, and the first reason stays. */
export async function pauseSending(tx: Tx, actor: Actor, reason: string): Promise<boolean> {
  if ((await store.pauseSending(tx, actor.org, reason)) === 0) return false;
  hint(tx, actor.org, 'email.message');
  await audit(tx, actor, 'email.sending.pause', { id: actor.org }, { reason });
  await emitEvents(tx, [{ org: actor.org, type: 'sending.paused', data: { reason } }]);
  wake(tx, queueChannel);
  return true;
}

/** Queued mail is sent again. False: sending was not paused. */
export async function resumeSending(tx: Tx, actor: Actor): Promise<boolean> {
  if ((await store.resumeSending(tx, actor.org)) === 0) return false;
  hint(tx, actor.org, 'email.message');
  await audit(tx, actor, 'email.sending.resume', { id: actor.org });
  await emitEvents(tx, [{ org: actor.org, type: 'sending.resumed', data: {} }]);
  wake(tx, queueChannel);
  return true;
}

/**
 * Checks organizations after a hard bounce or a complaint, in the same transaction. An organization near a limit is warned once; one that reaches
 * a limit is paused. The counts are rows by the hour, whose locks serialize concurrent checks.
 */
export async function pauseIfOverLimits(tx: Tx, orgs: readonly string[]): Promise<void> {
  if (orgs.length === 0) return;
  for (const figures of await store.findSendingRates(tx, [...new Set(orgs)])) {
    const { action: posture, reason } = judgeRates(figures);
    if (posture === 'pause' && !figures.is_paused) await pauseSending(tx, operator(figures.org_id), reason);
    const isNear = posture !== 'fine';
    if (isNear === figures.is_warned || (await store.markWarned(tx, figures.org_id, isNear)) === 0) continue;
    if (posture === 'warn') await audit(tx, operator(figures.org_id), 'email.sending.warn', { id: figures.org_id }, { reason });
  }
}
