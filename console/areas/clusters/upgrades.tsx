import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { open } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { clusterKinds, crumbsOf, useCluster, useUpgrades } from './readings.ts';

/** Where a cluster can go, and what is in the way. */
export default function Upgrades({ params: { name = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const reading = useUpgrades(name);
  const cluster = useCluster(name);
  const [asked, setAsked] = useState<string>();
  const { data } = reading;
  const busy = cluster.isBusy ? `The cluster is ${cluster.data!.phase}: one change at a time` : undefined;
  const start = async () => {
    await attempt({
      what: `upgrade ${name}`,
      done: `${name} goes to ${asked}`,
      kinds: clusterKinds,
      work: () => api().clusters.updateCluster(name, { orchestratorVersion: asked! }),
    });
    open(`/clusters/${encodeURIComponent(name)}`);
  };
  return (
    <Page
      title="Upgrades"
      crumbs={crumbsOf(name)}
      aside={data && <span class="faint">now {data.current}</span>}
      code={[
        { operation: 'listClusterUpgrades', params: [name] },
        { operation: 'updateCluster', params: [name], input: { orchestratorVersion: data?.upgrades[0]?.version ?? '<version>' } },
      ]}
    >
      {!data ? (
        <Waiting reading={reading} what="cluster" />
      ) : data.upgrades.length ? (
        <Table
          label="Upgrades"
          rows={data.upgrades}
          keyOf={({ version }) => version}
          columns={[
            { head: 'Version', cell: ({ version }) => version },
            { head: 'State', cell: ({ state }) => <State word={state} /> },
            {
              head: 'In the way',
              cell: ({ blockedBy }) =>
                blockedBy.length ? (
                  <ul class="inline">
                    {blockedBy.map(({ node, agentVersion }) => (
                      <li key={node}>
                        <bdi>{node}</bdi> runs {agentVersion || 'an unknown version'}: upgrade it first
                      </li>
                    ))}
                  </ul>
                ) : (
                  'nothing'
                ),
            },
            {
              head: 'Act',
              cell: ({ version, blockedBy }) => (
                <Button
                  small
                  why={why('updateCluster') ?? busy ?? (blockedBy.length ? 'Nodes are in the way: upgrade them first' : undefined)}
                  onPress={() => setAsked(version)}
                >
                  Upgrade
                </Button>
              ),
            },
          ]}
        />
      ) : (
        <Empty title="Nothing newer">{data.current} is the newest version that this server can run.</Empty>
      )}
      {asked && (
        <Dialog title={`Upgrade ${name} to ${asked}?`} onClose={() => setAsked(undefined)}>
          <Form action="Upgrade" why={why('updateCluster') ?? busy} onSubmit={start} onCancel={() => setAsked(undefined)}>
            <p>
              The control plane rolls while work goes on; with one replica its API restarts briefly. There is no way back to an older
              version.
            </p>
          </Form>
        </Dialog>
      )}
    </Page>
  );
}
