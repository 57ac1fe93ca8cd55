/**
 * On-call: alerts become incidents, and incidents page people. docs/areas/oncall.md lists limits, settings and metrics.
 *
 * Actors. A sender (Alertmanager, Prometheus, a monitor) delivers alerts. The worker of the lane `page` runs steps and pages. A person answers
 * by API, link, key or text. The provider (Twilio) reports on messages and calls.
 *
 * Data flow:
 *   delivery → `engine/receive-delivery.ts` (validate) → `engine/ingest.ts` (attach alerts, under the service's delivery lock)
 *     → `engine/open-incident.ts` (incident, copy of the policy, first step: one transaction)
 *     → job `oncall.step` → `engine/escalation/escalate.ts` (due steps, responder, pages within the limits)
 *     → job `oncall.page` → `engine/page.ts` → `clients/channels` (email, SMS, voice)
 *     → report or answer → `engine/page-reports.ts`, `engine/change-status.ts`.
 *
 * Layers. `rules/` decides without I/O, `store/` holds the SQL, `engine/` combines both, `planes/` are the routes without a token,
 * `operations/` the API, `views/` its answers.
 *
 * States. Incident: open → acknowledged → resolved; a restart opens an acknowledged one again. Escalation (`walk_state`): walking,
 * acknowledged, resolved, exhausted, none. Page: queued → sending → sent → delivered → confirmed, or failed, or canceled.
 *
 * Crashes. Every change of an incident commits with its jobs, so a killed worker loses nothing. A page is `sending` before the provider is
 * called; the next attempt looks it up at the provider first. The task `oncall.find-lost-work` restores lost jobs. In memory are only the
 * delivery queue of each service and the cache of auth tokens. Locks are taken in the order job, incident, page.
 */
import { defineArea } from '../area.ts';
import { oncallOverview } from './engine/ports/overview.ts';
import { oncallSearch } from './engine/ports/search.ts';
import { loadSource } from './engine/sources.ts';
import { doctorJob, leaveJob, pageJob, renameJob, stepJob, testPageJob } from './jobs.ts';
import { openOncall } from './open.ts';
import { acknowledgeIncident, acknowledgeIncidentAlias } from './operations/acknowledge-incident.ts';
import { addScheduleOverride } from './operations/add-schedule-override.ts';
import { clearProvider } from './operations/clear-provider.ts';
import { createAlertSource } from './operations/create-alert-source.ts';
import { createCalendarLink } from './operations/create-calendar-link.ts';
import { createEscalationPolicy } from './operations/create-escalation-policy.ts';
import { createOncallService } from './operations/create-oncall-service.ts';
import { createSchedule } from './operations/create-schedule.ts';
import { deleteEscalationPolicy } from './operations/delete-escalation-policy.ts';
import { deleteSchedule } from './operations/delete-schedule.ts';
import { examineOncall } from './operations/examine-oncall.ts';
import { getIncident } from './operations/get-incident.ts';
import { getIncidentStory } from './operations/get-incident-story.ts';
import { getPagingSettings } from './operations/get-paging-settings.ts';
import { getPagingTest } from './operations/get-paging-test.ts';
import { getProvider } from './operations/get-provider.ts';
import { getScheduleCalendar } from './operations/get-schedule-calendar.ts';
import { listAlertSources } from './operations/list-alert-sources.ts';
import { listCalendarLinks } from './operations/list-calendar-links.ts';
import { listEscalationPolicies } from './operations/list-escalation-policies.ts';
import { listIncidents } from './operations/list-incidents.ts';
import { listOncallServices } from './operations/list-oncall-services.ts';
import { listScheduleShifts } from './operations/list-schedule-shifts.ts';
import { listSchedules } from './operations/list-schedules.ts';
import { listShifts } from './operations/list-shifts.ts';
import { openIncident } from './operations/open-incident.ts';
import { previewServiceEscalation } from './operations/preview-service-escalation.ts';
import { publishIncidentUpdate } from './operations/publish-incident-update.ts';
import { receiveAlerts } from './operations/receive-alerts.ts';
import { receivePrometheusAlerts } from './operations/receive-prometheus-alerts.ts';
import { removeScheduleOverride } from './operations/remove-schedule-override.ts';
import { resolveIncident } from './operations/resolve-incident.ts';
import { retractIncidentUpdate } from './operations/retract-incident-update.ts';
import { revokeAlertSource } from './operations/revoke-alert-source.ts';
import { revokeCalendarLink } from './operations/revoke-calendar-link.ts';
import { savePagingSettings } from './operations/save-paging-settings.ts';
import { setProvider } from './operations/set-provider.ts';
import { setServicePolicy, updateOncallService } from './operations/set-service-policy.ts';
import { testPaging } from './operations/test-paging.ts';
import { updateEscalationPolicy } from './operations/update-escalation-policy.ts';
import { updateSchedule } from './operations/update-schedule.ts';
import { deleteOld, examineDaily, findLostWork, heartbeat, staleAlerts } from './tasks.ts';

export { leaveOncall } from './engine/escalation/member-removal.ts';
export { type MonitorAlert, receiveMonitorAlert } from './engine/monitor-alerts.ts';
export {
  type HistoryCursor,
  incidentResolved,
  olderPublicIncidents,
  type PublicIncident,
  type PublicState,
  publicIncidents,
  publicResolution,
  publicUpdate,
} from './engine/public-incidents.ts';
export { serviceDeleted, serviceReferences, serviceRenamed } from './engine/service-references.ts';
export { updatePublished } from './engine/updates.ts';
export { tryLockDeliveries } from './store/alerts.ts';
export { updatesPublished } from './store/public-incidents.ts';

export const oncall = defineArea({
  name: 'oncall',
  operations: [
    listIncidents,
    openIncident,
    getIncident,
    getIncidentStory,
    acknowledgeIncident,
    acknowledgeIncidentAlias,
    resolveIncident,
    publishIncidentUpdate,
    retractIncidentUpdate,
    listEscalationPolicies,
    createEscalationPolicy,
    updateEscalationPolicy,
    deleteEscalationPolicy,
    setServicePolicy,
    updateOncallService,
    previewServiceEscalation,
    examineOncall,
    listAlertSources,
    createAlertSource,
    revokeAlertSource,
    receiveAlerts,
    receivePrometheusAlerts,
    listSchedules,
    createSchedule,
    updateSchedule,
    deleteSchedule,
    addScheduleOverride,
    removeScheduleOverride,
    listScheduleShifts,
    listShifts,
    getScheduleCalendar,
    listCalendarLinks,
    createCalendarLink,
    revokeCalendarLink,
    getPagingSettings,
    savePagingSettings,
    testPaging,
    getPagingTest,
    getProvider,
    setProvider,
    clearProvider,
    listOncallServices,
    createOncallService,
  ],
  migrations: { schema: 'oncall', folder: new URL('./migrations/', import.meta.url) },
  sealed: [{ table: 'oncall.provider', column: 'auth_token', id: 'org_id' }],
  loaders: { src: loadSource },
  overview: [oncallOverview],
  search: [oncallSearch],
  jobs: [stepJob, pageJob, testPageJob, doctorJob, leaveJob, renameJob],
  tasks: [staleAlerts, findLostWork, deleteOld, heartbeat, examineDaily],
  open: openOncall,
});
