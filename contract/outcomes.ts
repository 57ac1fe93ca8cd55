// What commands say about what they did: after a create, before and after a delete, and while `--wait` watches.

export interface Creation {
  /** A kind of contract/things.ts. */
  thing: string;
  /** The answer's field that holds it, where it is not the answer itself. */
  at?: string;
  /** Commands that come next; `{it}` stands for the thing. */
  next: string[];
}

export const creations: Record<string, Creation> = {
  createAlertSource: { thing: 'alertSource', next: ['oncall doctor'] },
  createCalendarLink: { thing: 'calendarLink', next: ['oncall schedules calendar-links list <schedule>'] },
  createCluster: { thing: 'cluster', next: ['clusters get {it} --wait', 'clusters kubeconfig get {it} --only kubeconfig > {it}.yaml'] },
  createDomain: {
    thing: 'domain',
    next: ['email domains dns get {it}', 'email domains check {it} --wait', 'email keys create --name <name> --domain-ids {it}'],
  },
  createEscalationPolicy: { thing: 'policy', next: ['oncall services set <service> --escalation-policy-id {it}'] },
  createExportToken: { thing: 'exportToken', next: ['uptime export metrics scrape --token <the token above>'] },
  createGrant: { thing: 'grant', next: ['iam effective get --user-id <member>'] },
  createInvitation: { thing: 'invitation', at: 'invitation', next: ['join <the link above>'] },
  createMaintenance: { thing: 'maintenance', next: ['uptime maintenance list'] },
  createMonitor: { thing: 'monitor', next: ['uptime monitors get {it} --wait', 'uptime monitors metrics get {it} --window 1h'] },
  createOncallService: { thing: 'service', next: ['oncall services set {it} --escalation-policy-id <policy>', 'oncall doctor'] },
  createRegistrationToken: { thing: 'registrationToken', next: ['clusters nodes list <cluster>'] },
  createRegistry: { thing: 'registry', next: ['registry login-credentials create', 'registry repositories list {it}'] },
  createRegistryKey: { thing: 'registryKey', next: ['registry keys list <registry>'] },
  createRegistryLogin: { thing: 'registryLogin', next: ['registry list'] },
  createRegistryOidcRule: { thing: 'oidcRule', next: ['registry oidc-rules match <registry> --help'] },
  createRole: { thing: 'role', next: ['iam grants create --subject <member> --role {it}'] },
  createRoute: { thing: 'route', next: ['email routes match --help'] },
  createSchedule: {
    thing: 'schedule',
    next: ['oncall schedules shifts list {it}', 'oncall escalation-policies create --name <name> --repeat 1 --step schedule={it},wait=5m'],
  },
  createSendKey: { thing: 'sendKey', at: 'sendKey', next: ['email send --token <the secret above> --help'] },
  createStatusPage: { thing: 'statusPage', next: ['open status {it}'] },
  createSuppression: { thing: 'suppression', next: ['email suppressions list'] },
  createToken: { thing: 'token', next: ['tokens list'] },
  createUptimeService: { thing: 'service', next: ['uptime monitors create --service-id {it} --help'] },
  createWebhook: { thing: 'webhook', at: 'webhook', next: ['email webhook-deliveries list --endpoint-id {it}'] },
  addScheduleOverride: { thing: 'override', next: ['oncall schedules shifts list <schedule>'] },
  openIncident: { thing: 'incident', next: ['oncall incidents ack {it}', 'oncall incidents resolve {it}'] },
  publishIncidentUpdate: { thing: 'incidentUpdate', next: ['status pages list'] },
  sendEmail: { thing: 'message', next: ['email messages get {it} --wait'] },
};

export interface Loss {
  /** A kind of contract/things.ts, named by the last path parameter; absent: `word` says it. */
  thing?: string;
  word?: string;
  /** Fields of the command that name what is lost, where no path parameter does. */
  fields?: string[];
  /** What was done, said afterwards. */
  done: 'deleted' | 'revoked' | 'removed' | 'retracted' | 'deregistered' | 'cleared' | 'ended';
  /** What goes with it, as the end of a sentence that begins with "this loses". */
  loses: string;
  /** It cannot be made again: the name is typed on a terminal, and a script says `--yes`. */
  forGood?: true;
}

export const losses: Record<string, Loss> = {
  clearProvider: { word: 'the paging provider', done: 'cleared', loses: 'pages by SMS and voice until another one is set' },
  deleteCluster: { thing: 'cluster', done: 'deleted', loses: 'its control plane and everything stored in it', forGood: true },
  deleteDomain: { thing: 'domain', done: 'deleted', loses: 'its DKIM key, its routes, and sending from it' },
  deleteEscalationPolicy: { thing: 'policy', done: 'deleted', loses: 'its steps' },
  deleteGrant: { thing: 'grant', done: 'deleted', loses: 'the rights that the member has by it' },
  deleteInvitation: { thing: 'invitation', done: 'deleted', loses: 'the link that was sent' },
  deleteMaintenance: { thing: 'maintenance', done: 'deleted', loses: 'the announcement, and the silence of its pages' },
  deleteMonitor: { thing: 'monitor', done: 'deleted', loses: 'its checks and their history' },
  deleteRegistry: { thing: 'registry', done: 'deleted', loses: 'its repositories, keys and rules', forGood: true },
  deleteRegistryManifest: { word: 'manifest', fields: ['repo', 'digest'], done: 'deleted', loses: 'the image and its tags' },
  deleteRegistryOidcRule: { thing: 'oidcRule', done: 'deleted', loses: 'the access of the CI jobs that match it' },
  deleteRegistryRepository: { word: 'repository', fields: ['repo'], done: 'deleted', loses: 'every image and tag in it', forGood: true },
  deleteRegistryTag: { word: 'tag', fields: ['repo', 'tag'], done: 'deleted', loses: 'the tag; its image stays unless it is purged' },
  deleteRegistryUpstreamCredential: { thing: 'upstream', done: 'deleted', loses: 'pulls through the cache that need the login' },
  deleteRole: { thing: 'role', done: 'deleted', loses: 'what it allows' },
  deleteRoute: { thing: 'route', done: 'deleted', loses: 'mail that arrives for its pattern' },
  deleteSchedule: { thing: 'schedule', done: 'deleted', loses: 'its rotation, overrides and calendar links' },
  deleteStatusPage: { thing: 'statusPage', done: 'deleted', loses: 'its subscribers and its address', forGood: true },
  deleteSuppression: { thing: 'suppression', done: 'deleted', loses: 'the protection: mail goes to the address again' },
  endSession: { thing: 'session', done: 'ended', loses: 'nothing but that the browser must sign in again' },
  deleteToken: { thing: 'token', done: 'deleted', loses: 'the access of everything that uses it, and of tokens it minted' },
  deleteUptimeService: { thing: 'uptimeService', done: 'deleted', loses: 'its place in uptime, on-call and status pages' },
  deleteWebhook: { thing: 'webhook', done: 'deleted', loses: 'its signing secret, its routes and the deliveries that wait' },
  deregisterClusterNode: { thing: 'node', done: 'deregistered', loses: 'its place in the cluster and the work that runs on it' },
  removeMember: { thing: 'member', done: 'removed', loses: 'their grants, tokens and invitations' },
  removeScheduleOverride: { thing: 'override', done: 'removed', loses: 'the substitution: the rotation holds again' },
  removeStatusPageSubscriber: { thing: 'subscriber', done: 'removed', loses: 'the subscription; only its owner can subscribe again' },
  retractIncidentUpdate: { thing: 'incidentUpdate', done: 'retracted', loses: 'the text on status pages' },
  revokeAlertSource: { thing: 'alertSource', done: 'revoked', loses: 'alerts that are still sent with its token' },
  revokeCalendarLink: { thing: 'calendarLink', done: 'revoked', loses: 'the calendars that follow it' },
  revokeExportToken: { thing: 'exportToken', done: 'revoked', loses: 'the access of the scrapers that use it' },
  revokeRegistrationToken: { thing: 'registrationToken', done: 'revoked', loses: 'the way in for nodes that use it' },
  revokeRegistryKey: { thing: 'registryKey', done: 'revoked', loses: 'the access of everything that logs in with it' },
  revokeRegistryLogin: { thing: 'registryLogin', done: 'revoked', loses: 'the access of everything that logs in with it' },
  revokeSendKey: { thing: 'sendKey', done: 'revoked', loses: 'the access of everything that sends with it' },
};

/** How `--wait` watches a thing. */
export interface Watch {
  thing: string;
  /** The operation that shows it, and the field of its answer that holds it. */
  look: string;
  at?: string;
  /** The look is a list: the item with this id is the thing. */
  among?: true;
  state: string;
  done: string[];
  failed: string[];
  /** The field that says why it failed. */
  reason?: string;
  /** An operation that asks the server to look again, called now and then. */
  nudge?: string;
  /** The command that shows it, to go on with. */
  command: string;
}

export const watches: Record<string, Watch> = {
  cluster: {
    thing: 'cluster',
    look: 'getCluster',
    state: 'phase',
    done: ['ready'],
    failed: ['failed', 'deleting'],
    command: 'clusters get',
  },
  domain: {
    thing: 'domain',
    look: 'getDomain',
    state: 'sendState',
    done: ['verified'],
    failed: ['failed'],
    nudge: 'checkDomain',
    command: 'email domains get',
  },
  receiving: {
    thing: 'domain',
    look: 'getDomain',
    state: 'receiveState',
    done: ['verified'],
    failed: ['failed'],
    nudge: 'checkDomain',
    command: 'email domains get',
  },
  message: {
    thing: 'message',
    look: 'getMessage',
    at: 'message',
    state: 'state',
    done: ['delivered', 'sent', 'received'],
    failed: ['bounced', 'complained', 'suppressed', 'failed'],
    reason: 'lastError',
    command: 'email messages get',
  },
  monitor: { thing: 'monitor', look: 'getMonitor', state: 'state', done: ['up'], failed: ['down'], command: 'uptime monitors get' },
  delivery: {
    thing: 'delivery',
    look: 'listWebhookDeliveries',
    at: 'deliveries',
    among: true,
    state: 'state',
    done: ['delivered'],
    failed: ['failed'],
    reason: 'lastError',
    command: 'email webhook-deliveries list',
  },
};

export interface Wait {
  /** A key of `watches`. */
  watch: string;
  /** Until the thing is not there any more. */
  gone?: true;
  /** Fields of the input that the thing must have when it is done. */
  wanted?: string[];
  /** The state before the command may be seen for a few seconds: a failure counts only after that. */
  mayBeStale?: true;
}

/** The operations that take `--wait`. */
export const waits: Record<string, Wait> = {
  createCluster: { watch: 'cluster' },
  updateCluster: { watch: 'cluster', wanted: ['orchestratorVersion'] },
  getCluster: { watch: 'cluster' },
  deleteCluster: { watch: 'cluster', gone: true },
  createDomain: { watch: 'domain' },
  checkDomain: { watch: 'domain', mayBeStale: true },
  getDomain: { watch: 'domain' },
  armDomainReceiving: { watch: 'receiving' },
  getMessage: { watch: 'message' },
  createMonitor: { watch: 'monitor' },
  updateMonitor: { watch: 'monitor' },
  getMonitor: { watch: 'monitor' },
  redeliverWebhook: { watch: 'delivery' },
};
