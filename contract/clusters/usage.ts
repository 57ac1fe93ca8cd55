import Type from 'typebox';
import { DateTime, named, op } from '../common.ts';

const count = (description?: string) => Type.Integer({ minimum: 0, ...(description ? { description } : {}) });

/** The specification leaves this object open. */
const ClusterUsage = named(
  'ClusterUsage',
  Type.Object({
    cluster: Type.String(),
    at: DateTime,
    window: Type.Object(
      { from: DateTime, to: DateTime },
      { description: 'What hours and counts are summed over: the calendar month so far' },
    ),
    controlPlane: Type.Object({
      hours: Type.Number({ minimum: 0 }),
      tier: Type.String(),
      replicas: count(),
      version: Type.String(),
      components: Type.Array(
        Type.Object({
          name: Type.String(),
          cpuMilliP95: Type.Number({ minimum: 0, description: 'Thousandths of a core, over the last 15 minutes' }),
          memoryBytesP95: count('Over the last 15 minutes'),
          limitMemoryBytes: Type.Optional(count('What the tier allows')),
          restarts: count(),
        }),
      ),
    }),
    nodes: Type.Object({
      count: count(),
      ready: count(),
      nodeHours: Type.Number({ minimum: 0 }),
      cpuMilli: count('Capacity of all nodes'),
      memoryBytes: count('Capacity of all nodes'),
      byVersion: Type.Unsafe<Record<string, number>>({
        type: 'object',
        additionalProperties: { type: 'integer', minimum: 0 },
        description: 'How many nodes run which agent version',
      }),
    }),
    datastore: Type.Object({
      mode: Type.String(),
      usedBytes: count(),
      quotaBytes: Type.Optional(count()),
      members: Type.Optional(count('Of a dedicated datastore')),
      keys: count(),
      lastBackupAt: Type.Optional(DateTime),
    }),
    loadBalancers: Type.Object({ count: count(), hours: Type.Number({ minimum: 0 }), bytesIn: count(), bytesOut: count() }),
    api: Type.Object({ requests: count(), errors5xx: count(), inflightPeak: count() }),
    limitations: Type.Array(Type.String(), {
      description: 'What was asked for and the driver behind this cluster cannot give, one sentence each',
    }),
  }),
);

const ClusterPhase = named(
  'ClusterPhase',
  Type.Object({
    at: DateTime,
    phase: Type.String({ description: 'As in the cluster' }),
    what: Type.Optional(Type.String({ description: 'The change that was under way' })),
    reason: Type.Optional(Type.String({ description: 'Why it was degraded or failed' })),
  }),
);

const ClusterMonth = named(
  'ClusterMonth',
  Type.Object({
    month: Type.String({ description: 'Such as 2026-11, in UTC' }),
    hours: Type.Number({ minimum: 0, description: 'Of the control plane' }),
    nodeHours: Type.Number({ minimum: 0 }),
    requests: count(),
    errors5xx: count(),
    inflightPeak: count(),
  }),
);

const ClusterMinute = named(
  'ClusterMinute',
  Type.Object({
    at: DateTime,
    nodes: count(),
    inflight: count('Requests under way'),
    storedBytes: count(),
    cpuMilli: count('Thousandths of a core, of all programs of the control plane; 0 for an embedded one'),
    memoryBytes: count('Of all programs of the control plane; 0 for an embedded one'),
  }),
);

export const usageOps = {
  getClusterHistory: op({
    method: 'GET',
    path: '/clusters/{name}/history',
    summary: 'The phases of a cluster, and its use by month and minute',
    description: 'What it went through and used so far; answered also while no shard serves it.',
    permission: 'clusters.cluster.read',
    scoped: true,
    responses: {
      200: Type.Object({
        phases: Type.Array(ClusterPhase, { description: 'Oldest first; the newest 200' }),
        months: Type.Array(ClusterMonth, { description: 'The newest first, as far as it is counted; at most 36' }),
        minutes: Type.Array(ClusterMinute, { description: 'Oldest first; the last 15 minutes' }),
      }),
    },
    extension: true,
  }),
  getClusterUsage: op({
    method: 'GET',
    path: '/clusters/{name}/usage',
    summary: 'What a cluster uses',
    description: 'A metering snapshot, and what the cluster’s driver cannot give.',
    permission: 'clusters.cluster.read',
    scoped: true,
    responses: { 200: ClusterUsage },
  }),
};
