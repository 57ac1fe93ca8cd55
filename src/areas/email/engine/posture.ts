import { type Actor, audit } from '../../../identity/audit.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import * as store from '../store/posture.ts';
import { queueChannel } from './queue/index.ts';
import { tellEndpoints } from './webhooks/tell.ts';

/** Null: the default of the installation. */
export async function setDailyQuota(tx: Tx, actor: Actor, quota: number | null): Promise<void> {
  await store.setQuota(tx, actor.org, quota);
  await audit(tx, actor, 'email.sending.quota', { id: actor.org }, { dailyQuota: quota });
}

/** Nothing new is accepted, and what is queued waits. False: it was paused already, and the first reason stays. */
export async function pauseSending(tx: Tx, actor: Actor, reason: string): Promise<boolean> {
  if ((await store.pauseSending(tx, actor.org, reason)) === 0) return false;
  await audit(tx, actor, 'email.sending.pause', { id: actor.org }, { reason });
  await tellEndpoints(tx, [{ org: actor.org, type: 'sending.paused', data: { reason } }]);
  wake(tx, queueChannel);
  return true;
}

/** What waited goes on. False: it was not paused. */
export async function resumeSending(tx: Tx, actor: Actor): Promise<boolean> {
  if ((await store.resumeSending(tx, actor.org)) === 0) return false;
  await audit(tx, actor, 'email.sending.resume', { id: actor.org });
  await tellEndpoints(tx, [{ org: actor.org, type: 'sending.resumed', data: {} }]);
  wake(tx, queueChannel);
  return true;
}
