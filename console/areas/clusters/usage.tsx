import type { Api } from '../../../sdk/browser.ts';
import { useQuery } from '../../data/query.ts';
import { Lines, type Series } from '../../plots/lines.tsx';
import { bytes, duration } from '../../ui/cell.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { Table } from '../../ui/table.tsx';
import { Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { clusterKinds, crumbsOf, useHistory } from './readings.ts';

const stepSeconds = 60;
const steps = 15;

/** What a cluster uses now, by minute and by month, and what its driver cannot give it, in words. */
export default function Usage({ params: { name = '' } }: { params: Record<string, string> }) {
  const reading = useQuery({
    key: ['usage', name],
    kinds: clusterKinds,
    refreshSeconds: 60,
    ask: (api, signal) => api.clusters.getClusterUsage(name, { signal }),
  });
  const history = useHistory(name, 60);
  const { data } = reading;
  const minutes = history.data?.minutes ?? [];
  const months = history.data?.months ?? [];
  return (
    <Page
      title="Usage"
      crumbs={crumbsOf(name)}
      code={[
        { operation: 'getClusterUsage', params: [name] },
        { operation: 'getClusterHistory', params: [name] },
      ]}
    >
      {data ? <Now usage={data} /> : <Waiting reading={reading} what="cluster" />}
      {minutes.length > 1 && <Minutes minutes={minutes} />}
      <h2>Month by month</h2>
      {months.length ? (
        <Table
          label="Months"
          rows={months}
          keyOf={({ month }) => month}
          columns={[
            { head: 'Month (UTC)', cell: ({ month }) => month },
            { head: 'Control plane', kind: 'number', cell: ({ hours }) => duration(hours * 3_600) },
            { head: 'Node hours', kind: 'number', cell: ({ nodeHours }) => nodeHours.toFixed(1) },
            { head: 'Requests', kind: 'number', cell: ({ requests }) => requests },
            { head: 'Failed', kind: 'number', cell: ({ errors5xx }) => errors5xx },
            { head: 'At once', kind: 'number', cell: ({ inflightPeak }) => inflightPeak },
          ]}
        />
      ) : (
        <p class="faint">Nothing is counted yet: a cluster is measured once a minute from when it is first ready.</p>
      )}
    </Page>
  );
}

type UsageOf = Awaited<ReturnType<Api['clusters']['getClusterUsage']>>;
type Minute = Awaited<ReturnType<Api['clusters']['getClusterHistory']>>['minutes'][number];

function Now({ usage: { at, controlPlane, nodes, datastore, api, limitations } }: { usage: UsageOf }) {
  return (
    <>
      {limitations.length > 0 && (
        <div class="note attention">
          <p>What this cluster does not get:</p>
          <ul>
            {limitations.map((each) => (
              <li key={each}>{each}</li>
            ))}
          </ul>
        </div>
      )}
      <Sheet
        rows={[
          ['Measured', <Moment key="at" at={at} />],
          [
            'Control plane',
            `${controlPlane.tier}, ${controlPlane.replicas} of ${controlPlane.version}, ${duration(controlPlane.hours * 3_600)} this month`,
          ],
          ['Nodes', `${nodes.ready} of ${nodes.count} ready, ${nodes.nodeHours.toFixed(1)} node hours this month`],
          nodes.count > 0 && ['Capacity of the nodes', `${(nodes.cpuMilli / 1_000).toFixed(1)} cores, ${bytes(nodes.memoryBytes)}`],
          [
            'Stored',
            `${bytes(datastore.usedBytes)}${datastore.quotaBytes ? ` of ${bytes(datastore.quotaBytes)}` : ''} in ${datastore.keys} objects`,
          ],
          ['Requests this month', `${api.requests}, of which ${api.errors5xx} failed; at most ${api.inflightPeak} at once`],
          ...controlPlane.components.map(
            ({ name, cpuMilliP95, memoryBytesP95, restarts }) =>
              [name, `${cpuMilliP95} thousandths of a core, ${bytes(memoryBytesP95)}, restarted ${restarts} times`] as const,
          ),
        ]}
      />
    </>
  );
}

function Minutes({ minutes }: { minutes: readonly Minute[] }) {
  const last = Math.floor(Date.parse(minutes.at(-1)!.at) / 1_000 / stepSeconds) * stepSeconds;
  const from = last - (steps - 1) * stepSeconds;
  const series = (name: string, value: (minute: Minute) => number): Series => ({
    name,
    points: minutes.map((minute) => ({
      t: Math.floor(Date.parse(minute.at) / 1_000 / stepSeconds) * stepSeconds,
      value: value(minute),
      up: 1,
    })),
  });
  const plot = { from, stepSeconds, steps };
  const hasPrograms = minutes.some(({ memoryBytes }) => memoryBytes > 0);
  return (
    <>
      <h2>The last 15 minutes</h2>
      <h3>Memory</h3>
      <Lines
        label="Stored and memory"
        series={[
          series('stored', ({ storedBytes }) => storedBytes),
          ...(hasPrograms ? [series('memory', ({ memoryBytes }) => memoryBytes)] : []),
        ]}
        format={(value) => bytes(Math.round(value))}
        {...plot}
      />
      <h3>Requests at once, and nodes</h3>
      <Lines
        label="Requests at once, and nodes"
        series={[series('requests at once', ({ inflight }) => inflight), series('nodes', ({ nodes }) => nodes)]}
        format={String}
        {...plot}
      />
    </>
  );
}
