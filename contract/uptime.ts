import { type AreaInfo, area } from './common.ts';
import { availabilityOps } from './uptime/availability.ts';
import { exportOps } from './uptime/export.ts';
import { maintenanceOps } from './uptime/maintenance.ts';
import { monitorOps } from './uptime/monitors.ts';
import { observationOps } from './uptime/observations.ts';
import { serviceOps } from './uptime/services.ts';

const info: AreaInfo = {
  name: 'uptime',
  label: 'Uptime',
  description: 'Services, HTTP and TCP monitors, what the probes saw, and metrics for scrapers',
  unauthenticated: 'no valid session',
  away: 502,
  errors: {
    403: 'uptime is not enabled for the organization (private beta), or the caller lacks the permission',
    404: 'unknown service or monitor, or not of this organization',
    502: 'the uptime backend is unreachable',
  },
};

const { getMonitorMetrics, getMonitorMonth, ...others } = {
  ...serviceOps,
  ...monitorOps,
  ...observationOps,
  ...maintenanceOps,
  ...availabilityOps,
  ...exportOps,
};

/** Metrics are kept apart in the specification: without them the monitor goes on, so their absence is 503. */
export const uptime = { ...area(info, others), ...area({ ...info, away: 503 }, { getMonitorMetrics, getMonitorMonth }) };
