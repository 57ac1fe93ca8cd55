import { cgroupLimitsOf, memberCountOf, quotaBytesOf } from '../../../drivers/process/index.ts';
import { type BackupState, limitsOfBackups } from '../rules/backups.ts';
import { p95 } from '../rules/headroom.ts';
import { type AddonsState, limitationsOf } from '../rules/spec.ts';
import { tierOf } from '../rules/tiers.ts';
import { type ClusterRow, specOf } from '../store/clusters.ts';
import type { MeterRow, SampleRow } from '../store/usage.ts';

/** The fields of a node that usage counts. */
interface NodeCapacity {
  name: string;
  ready: boolean;
  agentVersion: string;
  cpuMilli: number;
  memoryBytes: number;
}

const hours = (seconds: number) => Math.round((seconds / 3_600) * 1e4) / 1e4;
const sum = (values: readonly number[]) => Math.round(values.reduce((a, b) => a + b, 0));

/** One entry for an embedded control plane; for programs, one per name over all samples. */
function componentsOf({ driver }: ClusterRow, samples: readonly SampleRow[]) {
  if (driver === 'embedded')
    return [{ name: 'embedded', cpuMilliP95: 0, memoryBytesP95: p95(samples.map(({ bytes }) => bytes)), restarts: 0 }];
  const seen = new Map<string, SampleRow['components']>();
  for (const each of samples.flatMap(({ components }) => components)) seen.set(each.name, [...(seen.get(each.name) ?? []), each]);
  return [...seen].map(([name, samplesOfName]) => ({
    name,
    cpuMilliP95: p95(samplesOfName.map(({ cpuMilli }) => cpuMilli)),
    memoryBytesP95: p95(samplesOfName.map(({ memoryBytes }) => memoryBytes)),
    restarts: samplesOfName.at(-1)!.restarts,
  }));
}

/** A sentence about programs that the kernel killed lately, because together they exceeded the tier's memory. */
function oomLimitations(row: ClusterRow, last: SampleRow | undefined): string[] {
  const ended = last?.components.filter(({ outOfMemory }) => outOfMemory).map(({ name }) => name) ?? [];
  if (ended.length === 0) return [];
  const { maxMiB: mostMiB } = cgroupLimitsOf(row);
  return [
    `memory: within the last 15 minutes ${ended.join(' and ')} needed more than the ${mostMiB} MiB of the tier and was ended; choose a larger one`,
  ];
}

interface UsageRows {
  meter: MeterRow;
  /** Of the last 15 minutes. */
  recent: readonly SampleRow[];
  newest: SampleRow | undefined;
  /** Whether the operator has added addresses for load balancers. */
  hasAddresses: boolean;
  /** Undefined: it is not switched on. */
  mesh: { problem: string | null; nodes: readonly string[] } | undefined;
  addons: AddonsState | undefined;
  backups: BackupState;
}

const namesOutside = (inside: readonly string[], nodes: readonly NodeCapacity[] = []) =>
  nodes.map(({ name }) => name).filter((name) => !inside.includes(name));

export function usageView(
  row: ClusterRow,
  { meter, recent, newest: last, hasAddresses, mesh, addons, backups }: UsageRows,
  nodes: readonly NodeCapacity[] | undefined,
) {
  const tier = tierOf(row.tier);
  const members = row.store === 'etcd' ? memberCountOf(row.datastore.replicas) : undefined;
  const byVersion = new Map<string, number>();
  for (const { agentVersion } of nodes ?? []) byVersion.set(agentVersion, (byVersion.get(agentVersion) ?? 0) + 1);
  const count = nodes?.length ?? last?.nodes ?? 0;
  return {
    cluster: row.name,
    at: meter.now,
    window: { from: meter.month, to: meter.now },
    controlPlane: {
      hours: hours(meter.plane_seconds + meter.open_seconds),
      tier: row.tier,
      replicas: row.replicas,
      version: row.version,
      components: componentsOf(row, recent),
    },
    nodes: {
      count,
      ready: nodes?.filter(({ ready }) => ready).length ?? last?.ready ?? 0,
      nodeHours: hours(meter.node_seconds + meter.open_seconds * count),
      cpuMilli: sum(nodes?.map(({ cpuMilli }) => cpuMilli) ?? []),
      memoryBytes: sum(nodes?.map(({ memoryBytes }) => memoryBytes) ?? []),
      byVersion: Object.fromEntries(byVersion),
    },
    datastore: {
      mode: row.datastore.mode,
      usedBytes: last?.bytes ?? 0,
      quotaBytes: row.store === 'etcd' ? quotaBytesOf(row.datastore) : tier.datastoreBytes,
      keys: last?.objects ?? 0,
      ...(members === undefined ? {} : { members }),
      ...(backups.at === null ? {} : { lastBackupAt: backups.at }),
    },
    loadBalancers: {
      count: row.balancers.length,
      hours: hours(meter.balancer_seconds + meter.open_seconds * row.balancers.length),
      bytesIn: meter.balancer_in,
      bytesOut: meter.balancer_out,
    },
    api: { requests: meter.requests, errors5xx: meter.errors, inflightPeak: meter.inflight_peak },
    limitations: [
      ...(row.reason === null ? [] : [`${row.phase}: ${row.reason}`]),
      ...(nodes
        ? []
        : [
            'nodes: the control plane does not tell them now; how many there were when it last did is shown, without their capacity and versions',
          ]),
      ...oomLimitations(row, recent.at(-1)),
      ...limitationsOf(specOf(row), {
        hasAddresses,
        addons,
        members,
        mesh: mesh && { problem: mesh.problem, outside: namesOutside(mesh.nodes, nodes) },
      }),
      ...limitsOfBackups(backups),
      ...row.balancers.flatMap(({ service, problem }) => (problem === null ? [] : [`managedLoadBalancers: ${service}: ${problem}`])),
    ],
  };
}
