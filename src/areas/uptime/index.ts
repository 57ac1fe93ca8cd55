// Uptime: monitors that probers check, and what follows from their results.
//
// Actors: the API's callers edit monitors (operations/). Probers poll for assignments and send batches of results (planes/agents): agents
// elsewhere by token, and a child process of each server with the role prober (planes/agents/local). Scrapers read planes/export.
// Workers run the jobs and tasks.
//
// Layers: rules/ decides without I/O (who is down, what an alert says, what availability counts), store/ holds the SQL, engine/ combines
// both in one transaction, views/ shows rows as the contract has them.
//
// Data flow of a result: a batch is ingested in one transaction (engine/ingest-batch.ts). It takes the next number of its instance, so a
// repeated batch has no effect; locks the monitors' states in order of id; stores checks and five-minute buckets; applies the results to
// the vantage's state (rules/apply-results.ts, rules/down.ts); and records transitions (engine/record.ts).
// Data flow of an alert: the same transaction decides what on-call must be sent (engine/alerts.ts, rules/alert.ts) and stores it as a
// notification with a job. The job delivers it (engine/notify-oncall.ts), in order for each monitor.
//
// States of a monitor: pending until enough vantages have reported, then up or down by quorum. A vantage that is silent for three
// intervals and a timeout does not vote; while none votes, the state stays. Flapping delays only the end of an alert.
//
// What survives a crash: everything that is committed. A prober repeats an unacknowledged batch; a job is claimed again; a notification
// whose job is lost gets another (tasks.ts). Probers buffer results on disk while the server or the database is away.
import { defineArea } from '../area.ts';
import { loadExportToken } from './engine/export-tokens.ts';
import { uptimeOverview } from './engine/ports/overview.ts';
import { uptimeSearch } from './engine/ports/search.ts';
import { uptimeStory } from './engine/ports/story.ts';
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
import { getMonitorMonth } from './operations/get-monitor-month.ts';
import { getServiceAvailability } from './operations/get-service-availability.ts';
import { getUptimeCatalog } from './operations/get-uptime-catalog.ts';
import { getUptimeSummary } from './operations/get-uptime-summary.ts';
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
import { tryMonitor } from './operations/try-monitor.ts';
import { updateMonitor } from './operations/update-monitor.ts';
import { namedMonitors } from './store/monitors.ts';
import { tasks } from './tasks.ts';

export * as agentRegistry from './engine/agent-registry.ts';
export { liveAvailabilityOf, type ServiceAvailability } from './engine/service-availability.ts';
export { type Maintenance, plannedMaintenance } from './store/maintenance.ts';

export const uptime = defineArea({
  name: 'uptime',
  operations: [
    pingUptime,
    getUptimeCatalog,
    getUptimeSummary,
    listMonitors,
    createMonitor,
    tryMonitor,
    getMonitor,
    updateMonitor,
    deleteMonitor,
    getMonitorMetrics,
    getMonitorMonth,
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
  overview: [uptimeOverview],
  search: [uptimeSearch],
  story: [uptimeStory],
  loaders: { scrape: loadExportToken },
  sealed: [{ table: 'uptime.monitor', column: 'sealed', id: 'id' }],
  jobs,
  tasks,
  open: openUptime,
});
