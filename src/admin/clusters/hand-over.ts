import { setTimeout as sleep } from 'node:timers/promises';
import { isHandedOver, offerHandover } from '../../areas/clusters/index.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import type { Session } from '../session.ts';
import { actOnCluster } from './act.ts';

/** A new control plane of programs is ready within two minutes, or is started again. */
const waitMs = 180_000;
const everyMs = 250;

export async function handOverCluster(session: Session, which: string, { wait }: { wait: boolean }): Promise<void> {
  const { id, cluster } = await actOnCluster(session, 'clusters.cluster.hand-over', (tx) => offerHandover(tx, which));
  if (!wait) return console.log(`${cluster} is offered to the other servers with the role shard`);
  const until = performance.now() + waitMs;
  while (!(await session.db.read((tx) => isHandedOver(tx, id)))) {
    if (performance.now() > until)
      throw new Stop(
        exitCodes.refused,
        `${cluster} is still offered: no server has taken it over within ${waitMs / 60_000} minutes, and it is served as before. The log of the other servers says why`,
      );
    await sleep(everyMs);
  }
  console.log(`${cluster} was handed over`);
}
