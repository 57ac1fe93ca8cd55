import { useState } from 'preact/hooks';
import { act } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { JoinDialog } from './join-dialog.tsx';
import { crumbsOf } from './readings.ts';

const kinds = ['clusters.node', 'clusters.cluster'];

/** The machines of a cluster, live. */
export default function Nodes({ params: { name = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const reading = useQuery({
    key: ['nodes', name],
    kinds,
    refreshSeconds: 15,
    ask: (client, signal) => client.clusters.listClusterNodes(name, { signal }),
  });
  const [isJoining, setJoining] = useState(false);
  const [asked, setAsked] = useState<string>();
  const nodes = reading.data?.nodes;
  const join = (
    <Button kind="primary" why={why('createJoinToken')} onPress={() => setJoining(true)}>
      Join a node
    </Button>
  );
  return (
    <Page
      title="Nodes"
      crumbs={crumbsOf(name)}
      actions={join}
      code={[
        { operation: 'listClusterNodes', params: [name] },
        { operation: 'createJoinToken', params: [name] },
      ]}
    >
      {!nodes ? (
        <Waiting reading={reading} what="cluster" />
      ) : nodes.length ? (
        <Table
          label="Nodes"
          rows={nodes}
          keyOf={(node) => node.name}
          columns={[
            { head: 'Node', cell: (node) => node.name },
            { head: 'State', cell: ({ ready }) => <State word={ready ? 'ready' : 'not ready'} /> },
            { head: 'Agent', cell: ({ agentVersion }) => agentVersion || <span class="faint">not told</span> },
            {
              head: 'Act',
              cell: (node) => (
                <Button small why={why('deregisterClusterNode')} onPress={() => setAsked(node.name)}>
                  Deregister
                </Button>
              ),
            },
          ]}
        />
      ) : (
        <Empty title="No node has joined yet" command={`quarterdeck clusters join-tokens create ${name} --only joinCommand`}>
          A node joins with the command of a join token, run on the machine. The control plane runs here already.
        </Empty>
      )}
      {isJoining && <JoinDialog cluster={name} onClose={() => setJoining(false)} />}
      {asked && (
        <ConfirmLoss
          operation="deregisterClusterNode"
          name={asked}
          action="Deregister"
          onClose={() => setAsked(undefined)}
          onConfirm={async () => {
            await act({
              what: `deregister the node ${asked}`,
              done: `${asked} is deregistered`,
              kinds,
              work: () => api().clusters.deregisterClusterNode(name, asked),
            });
            setAsked(undefined);
          }}
        >
          <p>Its certificates are refused from then on. It comes back only by joining anew.</p>
        </ConfirmLoss>
      )}
    </Page>
  );
}
