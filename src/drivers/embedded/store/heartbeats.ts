import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';

const Text = Type.Union([Type.String(), Type.Null()]);
const HeartbeatRow = Type.Object({ name: Type.String(), ready: Text, heartbeat: Text, renewed: Text });
/** The status and time of the condition Ready, and the time of the last lease renewal. */
export type HeartbeatRow = Static<typeof HeartbeatRow>;

/**
 * The last heartbeats of an embedded cluster's nodes. PostgreSQL extracts these few values: a node can make its objects large, and parsing
 * them whole would block the event loop. PostgreSQL cannot extract text from an object that holds a NUL, so such a node is skipped.
 */
export const listHeartbeatRows = (tx: Tx, cluster: string) => rows(tx, HeartbeatRow)`
  select node.name, ready.condition ->> 'status' as ready, ready.condition ->> 'lastHeartbeatTime' as heartbeat,
         lease.body::json #>> '{spec,renewTime}' as renewed
    from clusters.object node
    left join lateral (
      select condition from json_array_elements(node.body::json #> '{status,conditions}') condition
       where condition ->> 'type' = 'Ready' limit 1) ready on true
    left join clusters.object lease
      on lease.cluster_id = node.cluster_id and lease.resource = 'leases.coordination.k8s.io' and lease.namespace = 'kube-node-lease'
     and lease.name = node.name and position('\\u0000' in lease.body) = 0
   where node.cluster_id = ${cluster} and node.resource = 'nodes' and position('\\u0000' in node.body) = 0
   order by node.name`;
