// What the command line suggests after each sheet. Data only: sdk/generate copies it into the command table.

/** By operation: what a reader of its sheet is likely to type next. `{field}` is a field of the answer. */
export const next: Record<string, string[]> = {
  getCluster: ['clusters kubeconfig get {name} --only kubeconfig', 'clusters nodes list {name}', 'clusters upgrades list {name}'],
  getClusterUsage: ['clusters get {cluster}', 'clusters nodes list {cluster}'],
  getDomain: ['email domains dns get {id}', 'email domains get {id} -o zone', 'email domains check {id}'],
  getEmailSettings: ['email messages list', 'email suppressions list'],
  getMessage: ['email messages content get {id}', 'email suppressions list'],
  getMe: ['tokens list', 'organization members list'],
  getIncident: [
    'oncall incidents ack {id}',
    'oncall incidents resolve {id}',
    'oncall incidents story {id}',
    'oncall services preview {serviceId}',
  ],
  getPagingSettings: ['oncall doctor', 'oncall schedules list'],
  getProvider: ['oncall doctor'],
  getOrganization: ['organization members list', 'organization audit list'],
  getRegistry: ['registry repositories list {slug}', 'registry keys list {slug}', 'registry login-credentials create'],
  getStatusPage: ['status pages subscribers list {slug}', 'oncall incidents list'],
  getMonitor: ['uptime monitors failures list {id}', 'uptime monitors transitions list {id}', 'uptime monitors metrics get {id}'],
  getServiceAvailability: ['uptime monitors list', 'uptime services list'],
};
