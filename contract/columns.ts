import { type Columns, id, text, titled, wide } from './column.ts';
import { oncallColumns } from './oncall/columns.ts';

export type { Column, Format } from './column.ts';

const dnsRecords: Columns = ['type', 'name', 'value', 'priority', wide('capability')];
const groups: Columns = ['name', 'serviceIds'];
const heldBack: Columns = ['reason', 'mails', titled('lastAt', 'LAST'), text('sentence')];
const vantageStates: Columns = [
  'vantage',
  { key: 'verdict', as: 'state' },
  titled('failingSince', 'FAILING'),
  titled('checkedAt', 'CHECKED'),
  titled('latencyMs', 'LATENCY'),
];
const conditions: Columns = ['kind', 'vantage', titled('at', 'SINCE', 'age'), text('message')];
const role: Columns = [id('id'), 'name', 'kind', 'service', wide('scopable'), wide('permissions', { as: 'text' })];
const withoutFactor: Columns = [id('userId'), 'email', text('name'), 'tokens'];
const resources: Columns = [id('id'), 'name', 'service'];

/** By operation and list: four to six columns (all fields of a smaller thing), and further ones that are `wide`. The first names the row. */
export const columns: Record<string, Record<string, Columns>> = {
  listClusters: {
    clusters: [
      id('name'),
      'phase',
      titled('orchestratorVersion', 'VERSION'),
      'tier',
      'replicas',
      wide('endpoint'),
      wide('datastore.mode', { head: 'DATASTORE' }),
      wide('mesh'),
    ],
  },
  listClusterVersions: {
    versions: [
      id('version'),
      'state',
      'default',
      'releasedAt',
      titled('endOfLifeAt', 'END OF LIFE'),
      wide('upgradesTo'),
      wide('deprecatedAt'),
    ],
  },
  listClusterUpgrades: { upgrades: [id('version'), 'state', 'blockedBy'] },
  getClusterHistory: {
    phases: [{ key: 'at', as: 'time' }, 'phase', text('what'), text('reason')],
    months: [text('month'), 'hours', 'nodeHours', 'requests', wide('errors5xx'), wide('inflightPeak')],
    minutes: [{ key: 'at', as: 'time' }, 'nodes', 'inflight', 'storedBytes', wide('cpuMilli'), wide('memoryBytes')],
  },
  listClusterNodes: { nodes: [id('name'), { key: 'ready', as: 'state' }, 'agentVersion'] },
  listRegistrationTokens: { tokens: [id('id'), 'name', 'disabled', 'lastUsed', 'expiresAt', wide('createdAt')] },

  listDomains: { domains: [id('id'), 'name', titled('sendState', 'SEND'), titled('receiveState', 'RECEIVE'), 'createdAt'] },
  createDomain: { dnsRecords },
  getDomain: { dnsRecords },
  armDomainReceiving: { dnsRecords },
  getDomainDns: { records: ['outcome', 'type', 'name', 'expected', 'observed', text('reason'), wide('priority'), wide('capability')] },
  listSendKeys: { sendKeys: [id('id'), 'name', 'keyId', 'lastUsedAt', 'createdAt', wide('domainIds', { head: 'DOMAINS' })] },
  listMessages: {
    messages: [
      id('id'),
      'state',
      'to',
      text('subject'),
      'createdAt',
      wide('from'),
      wide('direction'),
      wide('sizeBytes'),
      wide('lastError', { as: 'text' }),
    ],
  },
  getMessage: {
    events: [titled('kind', 'EVENT', 'state'), 'recipient', titled('occurredAt', 'AGE'), text('detail'), wide('bounceType')],
    deferrals: ['recipient', titled('occurredAt', 'AGE'), text('detail')],
    recipients: [id('address'), 'state', titled('stateAt', 'SINCE', 'age'), 'deferrals', text('lastError'), wide('nextAttemptAt')],
  },
  sendEmailBatch: { messages: [id('id'), 'messageId'] },
  getEmailStats: { days: [id('date'), 'sent', 'delivered', 'bounced', 'complained', 'suppressed', wide('hardBounced', { head: 'HARD' })] },
  listRoutes: { routes: [id('id'), 'pattern', titled('endpointId', 'WEBHOOK'), 'createdAt', wide('domainId', { head: 'DOMAIN' })] },
  listSuppressions: { suppressions: [id('id'), 'address', 'reason', 'createdAt'] },
  listWebhooks: {
    webhooks: [id('id'), 'url', text('eventTypes', 'EVENTS'), 'disabled', 'createdAt', wide('disabledReason', { as: 'text' })],
  },
  listWebhookDeliveries: {
    deliveries: [
      id('id'),
      'state',
      titled('eventType', 'EVENT'),
      'attempts',
      titled('lastStatus', 'ANSWER'),
      'createdAt',
      wide('messageId', { head: 'MESSAGE' }),
      wide('endpointId', { head: 'WEBHOOK' }),
      wide('lastError', { as: 'text' }),
    ],
  },

  getIamCatalog: { roles: role, resources },
  getEffectivePermissions: {
    permissions: [
      id('permission'),
      'everywhere',
      'resources',
      text('roles'),
      wide('label', { as: 'text' }),
      wide('resourceIds', { head: 'RESOURCE IDS' }),
    ],
  },
  listGrants: { grants: [id('id'), 'subject', 'role', titled('resourceIds', 'RESOURCES'), 'createdAt', wide('roleName')] },
  listPermissions: { services: ['service', titled('serviceLabel', 'NAME'), text('resources')] },
  listRoles: { roles: role },
  listTokens: {
    tokens: [
      id('id'),
      'name',
      'enabled',
      titled('lastRequest', 'LAST USED'),
      'expiresAt',
      text('scope'),
      wide('start'),
      wide('createdAt'),
      wide('mintedBy'),
    ],
  },
  listSessions: {
    sessions: [
      id('id'),
      titled('isCurrent', 'THIS'),
      text('agent', 'BROWSER'),
      'address',
      titled('lastSeenAt', 'LAST USED'),
      'endsAt',
      wide('methods'),
      wide('createdAt'),
    ],
  },
  updateToken: { scope: ['role', 'roleName', titled('resourceIds', 'RESOURCES')] },
  listScopeOptions: { roles: [id('id'), 'name', 'service', 'scopable', wide('description', { as: 'text' })], resources },

  getInstallation: { servers: ['version', 'roles'] },
  getMe: { organizations: [id('slug'), 'name', 'role'] },
  listAudit: {
    entries: [
      titled('at', 'AGE'),
      titled('actorLabel', 'ACTOR'),
      'action',
      'target',
      text('detail'),
      id('id', { wide: true }),
      wide('requestId'),
    ],
  },
  listInvitations: { invitations: [id('id'), 'email', 'role', 'expiresAt', 'createdAt', wide('invitedBy')] },
  getSecurity: { members: withoutFactor },
  updateSecurity: { members: withoutFactor },
  listMembers: { members: [id('userId'), 'email', text('name'), 'role', 'joinedAt'] },

  ...oncallColumns,
  getOverview: {
    onCall: [
      titled('scheduleName', 'YOUR SCHEDULE'),
      titled('until', 'UNTIL', 'time'),
      titled('nextLabel', 'THEN'),
      id('scheduleId', { head: 'ID' }),
    ],
    incidents: [id('id'), 'status', titled('serviceName', 'SERVICE'), text('title'), titled('openedAt', 'AGE'), titled('pagesMe', 'MINE')],
    down: [
      'kind',
      'name',
      'state',
      titled('since', 'SINCE', 'age'),
      titled('serviceName', 'SERVICE'),
      id('id', { wide: true }),
      wide('reason', { as: 'text' }),
    ],
    failing: ['kind', text('name'), text('reason'), titled('since', 'SINCE', 'age'), id('id', { wide: true })],
    ends: ['kind', 'name', 'endsAt', titled('parents', 'OF'), id('id', { wide: true })],
    full: [
      'kind',
      'name',
      titled('percent', 'FULL', 'percent'),
      { key: 'used', as: 'count' },
      wide('limit', { as: 'count' }),
      wide('unit'),
    ],
    changes: [titled('at', 'AGE'), titled('actorLabel', 'ACTOR'), 'action', 'target', id('id', { wide: true })],
    firstSteps: ['step', 'done'],
    unavailable: ['area', text('reason')],
  },

  searchThings: {
    items: ['kind', 'name', id('id'), titled('parents', 'OF'), text('detail')],
    unavailable: ['area', text('reason')],
  },

  listRegistries: {
    registries: [
      id('slug'),
      titled('displayName', 'NAME'),
      'region',
      titled('usedBytes', 'USED'),
      titled('storageQuotaBytes', 'QUOTA'),
      'createdAt',
    ],
  },
  createRegistryLogin: { scope: ['registry', 'mode'] },
  listRegistryKeys: {
    keys: [id('keyId'), 'name', 'mode', 'lastUsedAt', 'expiresAt', 'revokedAt', wide('repoPrefixes'), wide('mintedVia'), wide('createdAt')],
  },
  listRegistryManifests: {
    manifests: [id('digest'), 'tags', 'sizeBytes', 'createdAt', wide('signatures'), wide('sboms'), wide('mediaType')],
  },
  getRegistryUsage: {
    days: [id('date'), 'usedBytes', titled('storageQuotaBytes', 'QUOTA'), titled('usedPct', 'SHARE')],
  },
  matchRegistryOidcSubject: {
    rules: [id('id'), 'name', { key: 'matches', as: 'state' }, 'mismatch', 'mode', titled('subjectPattern', 'SUBJECT')],
  },
  listRegistryOidcRules: {
    rules: [
      id('id'),
      'name',
      'mode',
      titled('subjectPattern', 'SUBJECT'),
      'issuer',
      wide('repoPrefixes'),
      wide('audience'),
      wide('createdAt'),
    ],
  },
  listRegistryRepositories: { repositories: [id('name'), titled('tagCount', 'TAGS'), 'sizeBytes', 'createdAt'] },
  getRegistryImage: {
    platforms: [id('digest'), 'platform', 'sizeBytes', titled('isHere', 'HERE', 'state'), { key: 'layers', as: 'count' }],
    attachments: [id('digest'), 'kind', 'type', 'sizeBytes', 'createdAt', wide('tag')],
  },
  listRegistryTags: { tags: [id('name'), 'digest', 'sizeBytes', 'updatedAt', wide('manifestSize', { head: 'MANIFEST', as: 'bytes' })] },
  listRegistryUpstreamCredentials: { upstreamCredentials: [id('upstream'), 'username', 'createdAt'] },
  listRegistryUpstreams: { upstreams: [id('host'), 'endpoint'] },

  listStatusPages: {
    pages: [id('slug'), 'title', 'subscribers', 'url', 'createdAt', wide('timezone'), wide('serviceIds', { head: 'SERVICES' })],
  },
  createStatusPage: { groups, heldBack },
  getStatusPage: { groups, heldBack },
  updateStatusPage: { groups, heldBack },
  listStatusPageSubscribers: { subscribers: [id('id'), 'address', 'state', 'createdAt', wide('confirmedAt')] },

  getUptimeCatalog: {
    intervals: [{ key: 'seconds', as: 'count' }, 'label'],
    vantages: [id('id'), 'label', { key: 'available', as: 'state' }],
  },
  listExportTokens: { tokens: [id('id'), 'name', 'lastUsedAt', 'createdAt'] },
  listMaintenance: {
    maintenance: [
      id('id'),
      text('title'),
      titled('startsAt', 'FROM', 'time'),
      titled('endsAt', 'UNTIL', 'time'),
      wide('serviceId', { head: 'SERVICE' }),
      wide('createdAt'),
    ],
  },
  listMonitors: {
    monitors: [
      id('id'),
      'name',
      'state',
      titled('stateSince', 'SINCE', 'age'),
      { key: 'http.url', or: 'tcp.host', head: 'TARGET' },
      titled('intervalSeconds', 'EVERY', 'duration'),
      wide('enabled'),
      wide('vantages'),
      wide('serviceId', { head: 'SERVICE' }),
    ],
  },
  createMonitor: { vantageStates, conditions },
  getMonitor: { vantageStates, conditions },
  updateMonitor: { vantageStates, conditions },
  listMonitorFailures: {
    failures: [
      titled('at', 'AGE'),
      'vantage',
      'outcome',
      titled('errorKind', 'KIND'),
      text('errorDetail', 'DETAIL'),
      wide('attempt'),
      wide('responseSnippet', { as: 'text' }),
    ],
  },
  getMonitorMetrics: { series: ['vantage', { key: 'points', as: 'count' }] },
  getMonitorMonth: { series: ['vantage', { key: 'points', as: 'count' }] },
  listMonitorTransitions: {
    transitions: [titled('at', 'AGE'), 'from', { key: 'to', as: 'state' }, titled('failingVantages', 'FAILING AT')],
  },
  getUptimeSummary: {
    monitors: [
      id('id'),
      'name',
      'state',
      titled('since', 'SINCE', 'age'),
      titled('latencyMs', 'LATENCY'),
      wide('bar', { head: 'LAST 24 HOURS' }),
      wide('enabled'),
      wide('serviceId', { head: 'SERVICE' }),
    ],
  },
  listUptimeServices: { services: [id('id'), 'name', 'monitors', 'createdAt'] },
  getServiceAvailability: {
    days: [id('date'), 'uptimePct', titled('downSeconds', 'DOWN', 'duration'), titled('watchedSeconds', 'WATCHED', 'duration')],
    months: [id('month'), 'uptimePct', titled('downSeconds', 'DOWN', 'duration'), titled('watchedSeconds', 'WATCHED', 'duration')],
  },
};
