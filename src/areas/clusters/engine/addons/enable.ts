import type { Tx } from '../../../../kernel/db/index.ts';
import { conflict, notFound } from '../../../../kernel/errors.ts';
import * as store from '../../store/addons.ts';

/** Clusters from before this release have kube-proxy and DNS of their own, or none, until the operator adds them. `which`: the id, or the name. */
export async function enableAddons(tx: Tx, which: string): Promise<{ id: string; cluster: string }> {
  const found = await store.listAddons(tx, which);
  const [first, second] = found;
  if (!first) return notFound(`cluster ${which} of programs`);
  if (second) return conflict(`several clusters are named ${which}; name one by its id: ${found.map(({ id }) => id).join(', ')}`);
  if (!(await store.insertAddons(tx, first.organization, first.id)))
    return conflict(`${first.cluster} gets kube-proxy and CoreDNS already`);
  return first;
}

export const listAddons = (tx: Tx) => store.listAddons(tx, null);
