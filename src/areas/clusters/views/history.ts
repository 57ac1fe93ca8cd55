import type { MinuteRow, MonthRow, PhaseRow } from '../store/history.ts';

const hours = (seconds: number) => Math.round((seconds / 3_600) * 1e4) / 1e4;

export const phaseView = ({ at, phase, what, reason }: PhaseRow) => ({
  at,
  phase,
  ...(what === null ? {} : { what }),
  ...(reason === null ? {} : { reason }),
});

export const monthView = ({ month, plane_seconds, node_seconds, requests, errors, inflight_peak }: MonthRow) => ({
  month,
  hours: hours(plane_seconds),
  nodeHours: hours(node_seconds),
  requests,
  errors5xx: errors,
  inflightPeak: inflight_peak,
});

export const minuteView = ({ at, nodes, inflight, bytes, cpu_milli, memory_bytes }: MinuteRow) => ({
  at,
  nodes,
  inflight,
  storedBytes: bytes,
  cpuMilli: cpu_milli,
  memoryBytes: memory_bytes,
});
