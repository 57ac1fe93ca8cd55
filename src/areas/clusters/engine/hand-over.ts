import type { Tx } from '../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../kernel/errors.ts';
import { wake } from '../../../kernel/jobs/index.ts';
import * as store from '../store/handover.ts';
import { clustersDue } from './channels.ts';
import { silentSeconds } from './shard/presence.ts';

/** Offers a cluster to the other servers with the role shard. Its holder serves it until one of them has taken it over. `which`: the id, or the name. */
export async function offerHandover(tx: Tx, which: string): Promise<{ id: string; organization: string; cluster: string }> {
  const [found, second] = await store.findToOffer(tx, which, silentSeconds);
  if (!found) return notFound(`cluster ${which}`);
  if (second) return conflict(`several clusters are named ${which}; name one by its id`);
  const { id, org, name, version, holder } = found;
  if (found.store === 'etcd')
    return conflict(`cluster ${name} has a datastore of its own, whose files are on the machine of its server: no other one can serve it`);
  if (!found.is_movable) return conflict(`cluster ${name} is not ready yet, or is being deleted`);
  if (holder === null) return conflict(`no server of this release holds cluster ${name}; those of the release before hand nothing over`);
  if (!found.has_successor)
    return conflict(`no other server with the role shard can take cluster ${name} over; start one that has ${version}`);
  await store.offerHeldBy(tx, id, holder);
  wake(tx, clustersDue);
  return { id, organization: org, cluster: name };
}

export const isHandedOver = async (tx: Tx, id: string): Promise<boolean> => !(await store.isOffered(tx, id));
