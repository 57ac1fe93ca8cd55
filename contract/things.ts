// What the command line knows of the things behind ids: how people name them, what a delete loses, what comes after a create, and when
// `--wait` is done. Data alone: `npm run sdk` writes it to sdk/generated/things.json. A test demands an entry for every id of the contract.

export interface Thing {
  /** As people call it. */
  word: string;
  /** The field of a listed item that the API takes as the id. */
  id: string;
  /** What its ids begin with; empty: several ways; absent: the id is a name of its own, never looked up. */
  prefix?: string;
  /** Other ids that the thing has, taken as well. */
  alsoIds?: string[];
  /** Fields that people know it by. */
  names?: string[];
  /** The operation that lists them, called with the first path parameters of the command, and the answer's field that holds them. */
  list?: { operation: string; items: string; params?: number };
  /** Ids without a prefix, that are never looked up. A dot in a name does the same. */
  builtin?: string[];
  /** Among several kinds in one list, a sibling field that begins with an item's `service` selects. */
  narrowedBy?: string;
}

export const things: Record<string, Thing> = {
  alertSource: {
    word: 'alert source',
    id: 'id',
    prefix: 'src',
    names: ['name'],
    list: { operation: 'listAlertSources', items: 'sources' },
  },
  calendarLink: {
    word: 'calendar link',
    id: 'id',
    prefix: 'cal',
    names: ['name'],
    list: { operation: 'listCalendarLinks', items: 'links', params: 1 },
  },
  cluster: { word: 'cluster', id: 'name', names: ['name'], list: { operation: 'listClusters', items: 'clusters' } },
  delivery: { word: 'delivery', id: 'id', list: { operation: 'listWebhookDeliveries', items: 'deliveries' } },
  domain: { word: 'domain', id: 'id', prefix: 'dom', names: ['name'], list: { operation: 'listDomains', items: 'domains' } },
  exportToken: { word: 'export token', id: 'id', prefix: 'exp', names: ['name'], list: { operation: 'listExportTokens', items: 'tokens' } },
  grant: { word: 'grant', id: 'id', prefix: 'grt', list: { operation: 'listGrants', items: 'grants' } },
  incident: { word: 'incident', id: 'id', prefix: 'inc', names: ['title'], list: { operation: 'listIncidents', items: 'incidents' } },
  incidentUpdate: { word: 'update', id: 'id', prefix: 'upd', list: { operation: 'getIncident', items: 'updates', params: 1 } },
  invitation: {
    word: 'invitation',
    id: 'id',
    prefix: 'inv',
    names: ['email'],
    list: { operation: 'listInvitations', items: 'invitations' },
  },
  maintenance: {
    word: 'maintenance',
    id: 'id',
    prefix: 'mnt',
    names: ['title'],
    list: { operation: 'listMaintenance', items: 'maintenance' },
  },
  member: { word: 'member', id: 'userId', prefix: 'usr', names: ['email', 'name'], list: { operation: 'listMembers', items: 'members' } },
  message: { word: 'message', id: 'id', prefix: 'msg', names: ['subject'], list: { operation: 'listMessages', items: 'messages' } },
  monitor: { word: 'monitor', id: 'id', prefix: 'mon', names: ['name'], list: { operation: 'listMonitors', items: 'monitors' } },
  node: { word: 'node', id: 'name', names: ['name'], list: { operation: 'listClusterNodes', items: 'nodes', params: 1 } },
  oidcRule: {
    word: 'OIDC rule',
    id: 'id',
    prefix: '',
    names: ['name'],
    list: { operation: 'listRegistryOidcRules', items: 'rules', params: 1 },
  },
  override: { word: 'override', id: 'id', prefix: 'ovr' },
  policy: {
    word: 'escalation policy',
    id: 'id',
    prefix: 'pol',
    names: ['name'],
    list: { operation: 'listEscalationPolicies', items: 'policies' },
  },
  registrationToken: {
    word: 'registration token',
    id: 'id',
    prefix: 'nrt',
    names: ['name'],
    list: { operation: 'listRegistrationTokens', items: 'tokens', params: 1 },
  },
  registry: { word: 'registry', id: 'slug', names: ['slug'], list: { operation: 'listRegistries', items: 'registries' } },
  registryKey: {
    word: 'registry key',
    id: 'keyId',
    prefix: 'rk',
    names: ['name'],
    list: { operation: 'listRegistryKeys', items: 'keys', params: 1 },
  },
  registryLogin: { word: 'login', id: 'username' },
  resource: {
    word: 'resource',
    id: 'id',
    prefix: '',
    names: ['name'],
    list: { operation: 'listScopeOptions', items: 'resources' },
    narrowedBy: 'role',
  },
  role: {
    word: 'role',
    id: 'id',
    prefix: 'rol',
    names: ['name'],
    list: { operation: 'listRoles', items: 'roles' },
    builtin: ['owner', 'admin', 'member'],
  },
  route: { word: 'route', id: 'id', prefix: 'rte', names: ['pattern'], list: { operation: 'listRoutes', items: 'routes' } },
  schedule: { word: 'schedule', id: 'id', prefix: 'sch', names: ['name'], list: { operation: 'listSchedules', items: 'schedules' } },
  sendKey: {
    word: 'send key',
    id: 'id',
    prefix: 'esk',
    alsoIds: ['keyId'],
    names: ['name'],
    list: { operation: 'listSendKeys', items: 'sendKeys' },
  },
  service: { word: 'service', id: 'id', prefix: 'svc', names: ['name'], list: { operation: 'listOncallServices', items: 'services' } },
  uptimeService: {
    word: 'service',
    id: 'id',
    prefix: 'svc',
    names: ['name'],
    list: { operation: 'listUptimeServices', items: 'services' },
  },
  session: { word: 'session', id: 'id', prefix: 'ses', list: { operation: 'listSessions', items: 'sessions' } },
  statusPage: { word: 'status page', id: 'slug', names: ['slug'], list: { operation: 'listStatusPages', items: 'pages' } },
  subscriber: {
    word: 'subscriber',
    id: 'id',
    prefix: 'sub',
    names: ['address'],
    list: { operation: 'listStatusPageSubscribers', items: 'subscribers', params: 1 },
  },
  suppression: {
    word: 'suppression',
    id: 'id',
    prefix: 'sup',
    names: ['address'],
    list: { operation: 'listSuppressions', items: 'suppressions' },
  },
  token: { word: 'token', id: 'id', prefix: 'tok', names: ['name'], list: { operation: 'listTokens', items: 'tokens' } },
  upstream: { word: 'upstream credential', id: 'upstream' },
  webhook: { word: 'webhook', id: 'id', prefix: 'whk', names: ['url'], list: { operation: 'listWebhooks', items: 'webhooks' } },
};

/** Path parameters by the path up to them. */
export const pathThings: Record<string, string> = {
  '/clusters/{name}': 'cluster',
  '/clusters/{name}/nodes/{node}': 'node',
  '/clusters/{name}/registration-tokens/{id}': 'registrationToken',
  '/email/domains/{id}': 'domain',
  '/email/keys/{id}': 'sendKey',
  '/email/messages/{id}': 'message',
  '/email/routes/{id}': 'route',
  '/email/suppressions/{id}': 'suppression',
  '/email/webhook-deliveries/{id}': 'delivery',
  '/email/webhooks/{id}': 'webhook',
  '/iam/grants/{id}': 'grant',
  '/iam/roles/{id}': 'role',
  '/oncall/alert-sources/{id}': 'alertSource',
  '/oncall/escalation-policies/{id}': 'policy',
  '/oncall/incidents/{id}': 'incident',
  '/oncall/incidents/{id}/updates/{uid}': 'incidentUpdate',
  '/oncall/schedules/{id}': 'schedule',
  '/oncall/schedules/{id}/calendar-links/{linkId}': 'calendarLink',
  '/oncall/schedules/{id}/overrides/{oid}': 'override',
  '/oncall/services/{id}': 'service',
  '/organization/invitations/{id}': 'invitation',
  '/organization/members/{userId}': 'member',
  '/registry/login-credentials/{keyId}': 'registryLogin',
  '/registry/registries/{slug}': 'registry',
  '/registry/registries/{slug}/keys/{keyId}': 'registryKey',
  '/registry/registries/{slug}/oidc-rules/{id}': 'oidcRule',
  '/registry/registries/{slug}/upstream-credentials/{host}': 'upstream',
  '/me/sessions/{id}': 'session',
  '/status-pages/{slug}': 'statusPage',
  '/status-pages/{slug}/subscribers/{id}': 'subscriber',
  '/tokens/{id}': 'token',
  '/uptime/export-tokens/{id}': 'exportToken',
  '/uptime/maintenance/{id}': 'maintenance',
  '/uptime/monitors/{id}': 'monitor',
  '/uptime/services/{id}': 'uptimeService',
};

/** Fields of queries and bodies: by name, or by the object that holds them and name. `by`: a sibling field tells which kind it is. */
export const fieldThings: Record<string, string | { by: string; of: Record<string, string> }> = {
  domainId: 'domain',
  domainIds: 'domain',
  endpointId: 'webhook',
  escalationPolicyId: 'policy',
  messageId: 'message',
  monitorId: 'monitor',
  resourceIds: 'resource',
  serviceId: 'service',
  serviceIds: 'service',
  userId: 'member',
  'createMaintenance.serviceId': 'uptimeService',
  'createMonitor.serviceId': 'uptimeService',
  'createStatusPage.serviceIds': 'uptimeService',
  'groups.serviceIds': 'uptimeService',
  'updateMonitor.serviceId': 'uptimeService',
  'updateStatusPage.serviceIds': 'uptimeService',
  'createGrant.role': 'role',
  'createGrant.subject': 'member',
  'createRegistryLogin.registry': 'registry',
  'listGrants.subject': 'member',
  'scope.role': 'role',
  'target.id': { by: 'kind', of: { schedule: 'schedule', user: 'member' } },
};

/** Fields that end like an id and name nothing of ours. */
export const noThings: Record<string, string> = {
  contentId: 'the Content-ID of a MIME part',
};
