import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { EtcdKeys } from '../../../keys.ts';
import { askCluster } from '../../clients/ask.ts';
import { dialServer, type Target } from '../../clients/dial.ts';
import { hasData } from '../../clients/store-directory.ts';
import { reconnectedAfterMs } from '../../rules/etcd/limits.ts';
import type { ProcessPlane } from '../state.ts';
import { reviveMember } from './members.ts';
import type { RunningMember } from './state.ts';

const limits = { pauseMs: 50, maxMs: 20_000 };

/**
 * A member has ended, however. It is started again at once, and requests wait until the store answers through every apiserver: without one of
 * three members that is a moment, without the leader until another one is elected, without the only one until it is back and its clients have
 * connected to it.
 */
export function memberEnded(plane: ProcessPlane, member: RunningMember, keys: EtcdKeys): void {
  const { stopping, gate, etcd } = plane;
  if (stopping.signal.aborted || etcd?.members.get(member.name) !== member) return;
  const reviving = plane.applying ? undefined : revive(plane, member, keys);
  gate.closeUntil(waitForStore(plane, reviving, etcd.endpoints.length === 1));
}

function revive(plane: ProcessPlane, member: RunningMember, keys: EtcdKeys): Promise<void> {
  const work = async () => {
    // A member without its data must not begin anew: the next apply replaces it.
    if (plane.etcd && (await hasData(join(plane.etcd.dir, member.name)))) await reviveMember(plane, member, keys);
  };
  const reviving = work()
    .catch((error) =>
      plane.app.log.warn({ err: error, cluster: plane.parts.cluster().id }, 'a member of a cluster’s etcd could not be started at once'),
    )
    .finally(() => {
      plane.reviving = undefined;
      plane.checkSoon();
    });
  plane.reviving = reviving;
  return reviving;
}

async function waitForStore(plane: ProcessPlane, reviving: Promise<void> | undefined, isOnlyMember: boolean): Promise<void> {
  const endedAt = performance.now();
  await reviving;
  while (performance.now() - endedAt < limits.maxMs) {
    if (plane.stopping.signal.aborted) return;
    const targets = plane.pool.current();
    const answers = await Promise.all(targets.map(storeAnswers));
    if (answers.every(Boolean)) break;
    await sleep(limits.pauseMs);
  }
  if (!isOnlyMember) return;
  const downMs = performance.now() - endedAt;
  await sleep(Math.min(limits.maxMs, reconnectedAfterMs(downMs)) - downMs, undefined, { signal: plane.stopping.signal, ref: false }).catch(
    () => {},
  );
}

/** Read from the store itself, not from a cache. */
const probePath = '/api/v1/namespaces/kube-system/configmaps/quarterdeck-store-probe';

async function storeAnswers(target: Target): Promise<boolean> {
  const { status } = await askCluster((dialed) => dialServer(target, dialed), 'GET', probePath);
  return status === 200 || status === 404;
}
