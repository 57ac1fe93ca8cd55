// What the command line shows of each list, and what it suggests after each sheet. Data only: sdk/generate checks it against the schemas
// and copies it into the command table.

/** How a value is written: `age` is `3h`, `time` the moment itself, `text` is free text that may be wrapped; all else is never broken. */
export type Format = 'age' | 'time' | 'bytes' | 'duration' | 'state' | 'id' | 'count' | 'percent' | 'text';

export interface Column {
  /** A field of the list's items; a dot leads into an object. */
  key: string;
  /** Shown where `key` is absent. */
  or?: string;
  /** The title, where the one made from the field's name does not suit. */
  head?: string;
  /** Where the field's name does not tell. */
  as?: Format;
  /** Shown with `-o wide`, and where the terminal has room. */
  wide?: true;
}

const wide = (key: string, more: Omit<Column, 'key' | 'wide'> = {}): Column => ({ key, ...more, wide: true });
const id = (key: string, more: Omit<Column, 'key' | 'as'> = {}): Column => ({ key, as: 'id', ...more });
const text = (key: string, head?: string): Column => ({ key, as: 'text', ...(head ? { head } : {}) });
const titled = (key: string, head: string, as?: Format): Column => ({ key, head, ...(as ? { as } : {}) });

type Columns = (string | Column)[];

const dnsRecords: Columns = ['type', 'name', 'value', 'priority', wide('capability')];
const steps: Columns = [titled('target.label', 'PAGES'), titled('target.kind', 'KIND'), titled('target.id', 'ID'), 'waitSeconds'];
const participants: Columns = [titled('label', 'NAME'), id('userId')];
const overrides: Columns = [titled('label', 'NAME'), titled('startsAt', 'FROM', 'time'), titled('endsAt', 'UNTIL', 'time'), id('id')];
const pagingRules: Columns = ['channel', titled('delaySeconds', 'AFTER', 'duration')];
const groups: Columns = ['name', 'serviceIds'];
const heldBack: Columns = ['reason', 'mails', titled('lastAt', 'LAST'), text('sentence')];
const conditions: Columns = ['kind', 'vantage', titled('at', 'SINCE', 'age'), text('message')];
const role: Columns = [id('id'), 'name', 'kind', 'service', wide('scopable'), wide('permissions', { as: 'text' })];
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
  getMessage: { events: [titled('kind', 'EVENT', 'state'), 'recipient', titled('occurredAt', 'AGE'), text('detail'), wide('bounceType')] },
  sendEmailBatch: { messages: [id('id'), 'messageId'] },
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
  listMembers: { members: [id('userId'), 'email', text('name'), 'role', 'joinedAt'] },

  listAlertSources: {
    sources: [
      id('id'),
      'name',
      'lastEventAt',
      text('lastProblem.message', 'LAST PROBLEM'),
      'createdAt',
      wide('serviceId', { head: 'SERVICE' }),
    ],
  },
  examineOncall: {
    services: [
      titled('name', 'SERVICE'),
      { key: 'paged', as: 'state' },
      titled('by.label', 'FIRST'),
      text('problems'),
      wide('by.channel', { head: 'BY' }),
      id('serviceId', { wide: true }),
    ],
  },
  listEscalationPolicies: {
    policies: [id('id'), 'name', { key: 'steps', as: 'count' }, 'services', 'repeat', 'createdAt', wide('remindAfterSeconds')],
  },
  createEscalationPolicy: { steps },
  updateEscalationPolicy: { steps },
  listIncidents: {
    incidents: [
      id('id'),
      'status',
      titled('serviceName', 'SERVICE'),
      text('title'),
      titled('firingAlerts', 'FIRING'),
      titled('openedAt', 'AGE'),
      wide('acknowledgedAt'),
      wide('resolvedAt'),
    ],
  },
  getIncident: {
    alerts: [
      'status',
      titled('sourceName', 'SOURCE'),
      text('title'),
      'deliveries',
      titled('startsAt', 'SINCE', 'age'),
      wide('generatorURL'),
      id('id', { wide: true }),
    ],
    timeline: [titled('at', 'AGE'), 'kind', text('message'), titled('actor.label', 'BY')],
    updates: [titled('at', 'AGE'), titled('byLabel', 'BY'), 'kind', text('body')],
    pages: [titled('label', 'WHO'), 'channel', 'state', 'attempts', 'sentAt', text('error'), wide('dueAt'), id('id', { wide: true })],
  },
  getPagingSettings: { rules: pagingRules },
  savePagingSettings: { rules: pagingRules },
  listSchedules: {
    schedules: [
      id('id'),
      'name',
      titled('onCallNow.label', 'ON CALL'),
      titled('onCallNow.until', 'UNTIL', 'age'),
      'timezone',
      wide('participants'),
      wide('createdAt'),
    ],
  },
  createSchedule: { participants, overrides },
  updateSchedule: { participants, overrides },
  listCalendarLinks: { links: [id('id'), 'name', 'createdAt'] },
  listScheduleShifts: {
    shifts: [
      titled('label', 'ON CALL'),
      titled('startsAt', 'FROM', 'time'),
      titled('endsAt', 'UNTIL', 'time'),
      titled('overrideId', 'OVERRIDE'),
      wide('userId'),
    ],
  },
  listOncallServices: { services: [id('id'), 'name', titled('escalationPolicyId', 'POLICY'), 'createdAt'] },
  previewServiceEscalation: {
    steps: [
      titled('at', 'WHEN', 'age'),
      titled('target.label', 'TARGET'),
      titled('responder.label', 'WHO'),
      text('pages'),
      text('problem'),
      wide('pass'),
      wide('step'),
    ],
  },

  listRegistries: { registries: [id('slug'), titled('displayName', 'NAME'), 'region', titled('storageQuotaBytes', 'QUOTA'), 'createdAt'] },
  createRegistryLogin: { scope: ['registry', 'mode'] },
  listRegistryKeys: {
    keys: [id('keyId'), 'name', 'mode', 'lastUsedAt', 'expiresAt', 'revokedAt', wide('repoPrefixes'), wide('mintedVia'), wide('createdAt')],
  },
  listRegistryManifests: {
    manifests: [id('digest'), 'tags', 'sizeBytes', 'createdAt', wide('signatures'), wide('sboms'), wide('mediaType')],
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
  listRegistryTags: { tags: [id('name'), 'digest', titled('manifestSize', 'MANIFEST', 'bytes'), 'updatedAt'] },
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
  createMonitor: { conditions },
  getMonitor: { conditions },
  updateMonitor: { conditions },
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
  listMonitorTransitions: {
    transitions: [titled('at', 'AGE'), 'from', { key: 'to', as: 'state' }, titled('failingVantages', 'FAILING AT')],
  },
  listUptimeServices: { services: [id('id'), 'name', 'monitors', 'createdAt'] },
  getServiceAvailability: {
    days: [id('date'), 'uptimePct', titled('downSeconds', 'DOWN', 'duration'), titled('watchedSeconds', 'WATCHED', 'duration')],
    months: [id('month'), 'uptimePct', titled('downSeconds', 'DOWN', 'duration'), titled('watchedSeconds', 'WATCHED', 'duration')],
  },
};

/** By operation: what a reader of its sheet is likely to type next. `{field}` is a field of the answer. */
export const next: Record<string, string[]> = {
  getCluster: ['clusters kubeconfig get {name} --only kubeconfig', 'clusters nodes list {name}', 'clusters upgrades list {name}'],
  getClusterUsage: ['clusters get {cluster}', 'clusters nodes list {cluster}'],
  getDomain: ['email domains dns get {id}', 'email domains get {id} -o zone', 'email domains check {id}'],
  getEmailSettings: ['email messages list', 'email suppressions list'],
  getMessage: ['email messages content get {id}', 'email suppressions list'],
  getMe: ['tokens list', 'organization members list'],
  getIncident: ['oncall incidents ack {id}', 'oncall incidents resolve {id}', 'oncall services preview {serviceId}'],
  getPagingSettings: ['oncall doctor', 'oncall schedules list'],
  getProvider: ['oncall doctor'],
  getOrganization: ['organization members list', 'organization audit list'],
  getRegistry: ['registry repositories list {slug}', 'registry keys list {slug}', 'registry login-credentials create'],
  getStatusPage: ['status pages subscribers list {slug}', 'oncall incidents list'],
  getMonitor: ['uptime monitors failures list {id}', 'uptime monitors transitions list {id}', 'uptime monitors metrics get {id}'],
  getServiceAvailability: ['uptime monitors list', 'uptime services list'],
};
