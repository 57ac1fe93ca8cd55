import { useState } from 'preact/hooks';
import { act, attempt, leave } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code, Value } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Download } from '../../ui/download.tsx';
import { Link } from '../../ui/link.tsx';
import { OperationDialog } from '../../ui/operation-dialog.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { State } from '../../ui/state.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { JoinDialog } from './join-dialog.tsx';
import { FirstSteps, PhaseLog } from './phases.tsx';
import { clusterKinds, useCluster, useHistory } from './readings.ts';

const parts = [
  ['nodes', 'Nodes'],
  ['upgrades', 'Upgrades'],
  ['tokens', 'Registration tokens'],
  ['usage', 'Usage'],
] as const;

/** A cluster: its phases as they happen, how to reach it, and the ways on to its nodes, upgrades and usage. */
export default function Cluster({ params: { name = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const reading = useCluster(name);
  const { data } = reading;
  const history = useHistory(name, reading.isBusy ? 5 : 60);
  const [asked, setAsked] = useState<'join' | 'change' | 'delete'>();
  const [kubeconfig, setKubeconfig] = useState<string>();
  const close = () => setAsked(undefined);
  const crumbs = [{ to: '/clusters', label: 'Clusters' }];
  const phases = history.data?.phases ?? [];
  // One that no server holds is not answered, but what it went through is.
  if (!data)
    return (
      <Page title={name} crumbs={crumbs}>
        <Waiting reading={reading} what="cluster" />
        {reading.error && phases.length > 0 && <PhaseLog phases={phases} />}
      </Page>
    );
  const noEndpoint = data.endpoint ? undefined : `The cluster is ${data.phase} and has no endpoint yet`;
  const fetchKubeconfig = async () => {
    const done = await act({
      what: `fetch the client configuration of ${name}`,
      kinds: [],
      work: () => api().clusters.getClusterKubeconfig(name),
    });
    if (done) setKubeconfig(done.answer.kubeconfig);
  };
  return (
    <Page
      title={name}
      crumbs={crumbs}
      aside={<State word={data.phase} />}
      actions={
        <>
          <Button kind="primary" why={why('createJoinToken') ?? noEndpoint} onPress={() => setAsked('join')}>
            Join a node
          </Button>
          <Button why={why('getClusterKubeconfig') ?? noEndpoint} onPress={fetchKubeconfig}>
            Kubeconfig
          </Button>
          <Button why={why('updateCluster')} onPress={() => setAsked('change')}>
            Change
          </Button>
          <Button
            kind="danger"
            why={data.phase === 'deleting' ? 'It is being torn down' : why('deleteCluster')}
            onPress={() => setAsked('delete')}
          >
            Delete
          </Button>
        </>
      }
      code={[
        { operation: 'getCluster', params: [name] },
        { operation: 'getClusterHistory', params: [name] },
        { operation: 'getClusterKubeconfig', params: [name] },
      ]}
    >
      {phases.length > 0 && !phases.some(({ phase }) => phase === 'updating' || phase === 'deleting') && <FirstSteps phases={phases} />}
      <p class="buttons">
        {parts.map(([part, label]) => (
          <Link key={part} class="button plain" to={`/clusters/${encodeURIComponent(name)}/${part}`}>
            {label}
          </Link>
        ))}
      </p>
      <Sheet
        rows={[
          ['Reached at', data.endpoint ? <Value key="endpoint" text={data.endpoint} /> : <span class="faint">not yet</span>],
          ['Version', data.orchestratorVersion],
          ['Tier', data.tier],
          ['Replicas of the control plane', data.replicas],
          [
            'Datastore',
            [data.datastore.mode, data.datastore.size, data.datastore.storageGiB && `${data.datastore.storageGiB} GiB`]
              .filter(Boolean)
              .join(', '),
          ],
          [
            'Load balancers',
            data.managedLoadBalancers.enabled ? `up to ${data.managedLoadBalancers.maxServices} services get an address` : 'off',
          ],
          ['Mesh', data.mesh ? 'asked for' : 'off'],
        ]}
      />
      <h2>What it went through</h2>
      {phases.length ? <PhaseLog phases={phases} /> : <Waiting reading={history} what="history" />}
      {asked === 'join' && <JoinDialog cluster={name} onClose={close} />}
      {asked === 'change' && (
        <OperationDialog
          operation="updateCluster"
          params={[name]}
          input={{ tier: data.tier, orchestratorVersion: data.orchestratorVersion, replicas: data.replicas }}
          onClose={close}
        />
      )}
      {asked === 'delete' && (
        <ConfirmLoss
          operation="deleteCluster"
          name={name}
          action="Delete"
          onClose={close}
          onConfirm={async () => {
            // It is listed as deleting until it is gone.
            await attempt({
              what: `delete the cluster ${name}`,
              done: `${name} is being torn down`,
              kinds: [],
              work: () => api().clusters.deleteCluster(name),
            }).then(
              () => leave('/clusters', clusterKinds),
              () => close(),
            );
          }}
        />
      )}
      {kubeconfig && (
        <Dialog title={`Client configuration of ${name}`} wide onClose={() => setKubeconfig(undefined)}>
          <p class="note attention">It holds full rights for an hour. Nothing here keeps it: fetch it again then.</p>
          <p class="buttons">
            <Download name={`${name}.kubeconfig`} text={kubeconfig} label="Download it" />
          </p>
          <Code text={`kubectl --kubeconfig ${name}.kubeconfig get nodes`} label="Use it" />
          <details>
            <summary>Its text</summary>
            <Code text={kubeconfig} label="Client configuration" />
          </details>
        </Dialog>
      )}
    </Page>
  );
}
