import { area } from './shared.ts';
import { exportOps } from './uptime/export.ts';
import { monitorOps } from './uptime/monitors.ts';
import { observationOps } from './uptime/observations.ts';
import { serviceOps } from './uptime/services.ts';

export const uptime = area(
  {
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
  },
  { ...serviceOps, ...monitorOps, ...observationOps, ...exportOps },
);
