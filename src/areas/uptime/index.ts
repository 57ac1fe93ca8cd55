import { defineArea } from '../area.ts';
import { loadExportToken } from './engine/export-tokens.ts';
import { jobs } from './jobs.ts';
import { openUptime } from './open.ts';
import { createExportToken } from './operations/create-export-token.ts';
import { createMaintenance } from './operations/create-maintenance.ts';
import { createMonitor } from './operations/create-monitor.ts';
import { createUptimeService } from './operations/create-uptime-service.ts';
import { deleteMaintenance } from './operations/delete-maintenance.ts';
import { deleteMonitor } from './operations/delete-monitor.ts';
import { deleteUptimeService } from './operations/delete-uptime-service.ts';
import { getMonitor } from './operations/get-monitor.ts';
import { getMonitorMetrics } from './operations/get-monitor-metrics.ts';
import { getServiceAvailability } from './operations/get-service-availability.ts';
import { getUptimeCatalog } from './operations/get-uptime-catalog.ts';
import { listExportTokens } from './operations/list-export-tokens.ts';
import { listMaintenance } from './operations/list-maintenance.ts';
import { listMonitorFailures } from './operations/list-monitor-failures.ts';
import { listMonitorTransitions } from './operations/list-monitor-transitions.ts';
import { listMonitors } from './operations/list-monitors.ts';
import { listUptimeServices } from './operations/list-uptime-services.ts';
import { pingUptime } from './operations/ping-uptime.ts';
import { renameUptimeService } from './operations/rename-uptime-service.ts';
import { revokeExportToken } from './operations/revoke-export-token.ts';
import { scrapeUptimeMetrics } from './operations/scrape-uptime-metrics.ts';
import { updateMonitor } from './operations/update-monitor.ts';
import { namedMonitors } from './store/monitors.ts';
import { tasks } from './tasks.ts';

export * as agentRegistry from './engine/agent-registry.ts';
export { observedOf, type ServiceAvailability } from './engine/service-availability.ts';
export { type Maintenance, plannedMaintenance } from './store/maintenance.ts';

export const uptime = defineArea({
  name: 'uptime',
  operations: [
    pingUptime,
    getUptimeCatalog,
    listMonitors,
    createMonitor,
    getMonitor,
    updateMonitor,
    deleteMonitor,
    getMonitorMetrics,
    listMonitorFailures,
    listMonitorTransitions,
    listMaintenance,
    createMaintenance,
    deleteMaintenance,
    getServiceAvailability,
    listExportTokens,
    createExportToken,
    revokeExportToken,
    scrapeUptimeMetrics,
    listUptimeServices,
    createUptimeService,
    renameUptimeService,
    deleteUptimeService,
  ],
  migrations: { schema: 'uptime', folder: new URL('./migrations/', import.meta.url) },
  resources: [{ service: 'uptime', permission: 'uptime.monitor.read', list: namedMonitors }],
  loaders: { scrape: loadExportToken },
  sealed: [{ table: 'uptime.monitor', column: 'sealed', id: 'id' }],
  jobs,
  tasks,
  open: openUptime,
});
