import { readFileSync } from 'node:fs';
import { type Document, deref, opsOf, type Schema } from '../../sdk/generate/document.ts';

// Answers as a server gives them, made from the contract's schemas: each field has a value that its name calls for.

const document = JSON.parse(readFileSync(new URL('../../openapi/v1.json', import.meta.url), 'utf8')) as Document;
const ops = new Map(opsOf(document).map((op) => [op.id, op]));

export const now = Date.parse('2026-07-28T12:00:00.000Z');
const hour = 3_600_000;

/** The answer of an operation; each of its lists has three items. */
export const sampleAnswer = (operation: string) => {
  const answer = sample(ops.get(operation)!.answer!, operation, '', 0) as Record<string, unknown>;
  delete answer['cursor'];
  return answer;
};

function sample(given: Schema, parent: string, key: string, n: number): unknown {
  const name = given.$ref?.split('/').at(-1) ?? parent;
  const schema = deref(document, given)!;
  if (schema.anyOf) return n === 1 ? null : sample(schema.anyOf.find((s) => s.type !== 'null')!, name, key, n);
  if (schema.enum) return schema.enum[n % schema.enum.length];
  if (schema.type === 'array') return items(schema.items!, name, key, n);
  if (schema.type === 'object') return object(schema, name, key, n);
  if (schema.type === 'boolean') return key === 'disabled' || key === 'default' ? n === 2 : n !== 1;
  if (schema.type === 'integer' || schema.type === 'number') return numbers[key] === undefined ? 3 + n : numbers[key]! * (n + 1);
  return (schema as { format?: string }).format === 'date-time' ? moment(key, n) : text(name, key, n);
}

function items(item: Schema, parent: string, key: string, n: number): unknown[] {
  if (key === 'dnsRecords' || key === 'records')
    return dns.map((record) => ({ ...(sample(item, parent, key, 0) as object), ...record(key) }));
  const isObject = deref(document, item)!.type === 'object';
  return Array.from({ length: isObject ? 3 : n === 1 ? Number(key === 'to') : 2 - (n % 2) }, (_, i) =>
    sample(item, parent, key, isObject ? i : i + n),
  );
}

/** The second of each three has only what it must have. */
function object({ properties, required = [] }: Schema, name: string, key: string, n: number): Record<string, unknown> {
  if (!properties && key === 'permissions')
    return { 'oncall.incident.write': '*', 'uptime.monitor.read': ['mon_01J8Z6Q4T0000000000000000A'] };
  if (!properties)
    return key === 'detail'
      ? { name: 'ci', scope: 'uptime.viewer', reason: 'requested by the release team in ticket 4711' }
      : { 'eu-1': 2 };
  const entries = Object.entries(properties).filter(([field]) => n !== 1 || required.includes(field));
  return Object.fromEntries(entries.map(([field, schema]) => [field, sample(schema, name, field, n)]));
}

const isFuture = /^(expiresAt|endsAt|until|nextAt|endOfLifeAt)$/;
const moment = (key: string, n: number) => new Date(now + (isFuture.test(key) ? 1 : -1) * [0.09, 3, 70][n % 3]! * hour).toISOString();

const numbers: Record<string, number> = {
  sizeBytes: 12_884_902,
  usedBytes: 4_509_715_661,
  storageQuotaBytes: 10_737_418_240,
  manifestSize: 1563,
  intervalSeconds: 60,
  waitSeconds: 300,
  timeoutMs: 10_000,
  watchedSeconds: 86_400,
  downSeconds: 95,
  uptimePct: 33.297,
  lastStatus: 200,
  expiresIn: 3600,
  storageGiB: 10,
  memoryBytes: 8_589_934_592,
};

const idText = (prefix: string, n: number) => `${prefix}_01kyq4mzt${n}${'8xw3v7r2hj5bn0c6'}`;
const prefixes: Record<string, string> = {
  EmailMessage: 'msg',
  EmailDomain: 'dom',
  EmailSendKey: 'sk',
  EmailRoute: 'rt',
  EmailWebhook: 'wh',
  EmailSuppression: 'sup',
  PersonalToken: 'tok',
  OncallIncident: 'inc',
  UptimeMonitor: 'mon',
  serviceId: 'svc',
  serviceIds: 'svc',
  domainId: 'dom',
  domainIds: 'dom',
  endpointId: 'wh',
  userId: 'usr',
  escalationPolicyId: 'pol',
  subject: 'usr',
  resourceIds: 'mon',
  messageId: 'msg',
};

const hex = 'b5b2b2c507a0944348e0303114d8d93aaaa081732b86451d9bce1f432a537bc7';
const dkim = `v=DKIM1; k=rsa; p=MIIBIjANBgkqhkiG9w0BAQEFAAOCAQ8AMIIBCgKCAQEA${'x7Tq'.repeat(84)}IDAQAB`;

const dns = [
  (key: string) => ({
    type: 'TXT',
    name: 'qd1._domainkey.mail.example.com',
    ...valued(key, dkim),
    priority: undefined,
    ...found(key, 'missing', 'nxdomain'),
  }),
  (key: string) => ({
    type: 'MX',
    name: 'bounce.mail.example.com',
    ...valued(key, 'mx.quarterdeck.example'),
    priority: 10,
    ...found(key, 'found'),
  }),
  (key: string) => ({
    type: 'TXT',
    name: 'bounce.mail.example.com',
    ...valued(key, 'v=spf1 a:mx.quarterdeck.example ~all'),
    priority: undefined,
    ...found(key, 'mismatch', 'wrong_value', 'v=spf1 -all'),
  }),
];
const valued = (key: string, value: string) => (key === 'records' ? { expected: value } : { value });
const found = (key: string, outcome: string, reason?: string, observed?: string) =>
  key === 'records' ? { outcome, reason, observed, observedAll: observed ? [observed] : undefined } : {};

const texts: Record<string, string[]> = {
  name: ['web', 'checkout', 'billing-worker'],
  slug: ['acme', 'acme-labs', 'ops'],
  title: ['Checkout answers 502', 'Disk of db-1 is nearly full', 'Certificate of the status page ends in a week, and nothing renews it'],
  subject: [
    'Your invoice for July',
    'Re: Welcome aboard',
    'A subject that runs on for quite a while, as subjects of newsletters like to do these days',
  ],
  from: ['billing@mail.example.com', 'hello@mail.example.com', 'news@mail.example.com'],
  to: ['bob@customer.example', 'alice.liddell@wonderland.example', 'carol@customer.example'],
  email: ['ann@example.com', 'bob@example.com', 'carol.danvers@example.com'],
  address: ['bob@customer.example', 'gone@customer.example', 'carol@customer.example'],
  url: ['https://hooks.example.com/quarterdeck', 'https://example.com/healthz', 'https://status.example.com/acme'],
  endpoint: ['https://prod.clusters.quarterdeck.example:6443', 'https://dev.clusters.quarterdeck.example:6443'],
  phase: ['ready', 'provisioning', 'failed'],
  version: ['1.34.2', '1.33.6', '1.32.10'],
  orchestratorVersion: ['1.34.2', '1.33.6', '1.32.10'],
  agentVersion: ['1.34.2', '1.33.6', '1.32.10'],
  tier: ['small', 'medium', 'large'],
  action: ['tokens.token.create', 'email.domain.delete', 'oncall.incident.acknowledge'],
  actorLabel: ['ann@example.com', 'bob@example.com', 'ci (token)'],
  label: ['Ann', 'Bob', 'Carol Danvers'],
  tags: ['latest', 'v1.4.2', 'main'],
  role: ['uptime.viewer', 'email.admin', 'role_01kyq4mzt08xw3v7r2hj5bn0c6'],
  timezone: ['Europe/Berlin', 'America/New_York', 'UTC'],
  eventTypes: ['email.delivered', 'email.bounced', 'email.received'],
  vantages: ['eu-1', 'us-1', 'ap-1'],
  region: ['local', 'local', 'local'],
  description: ['Sees everything, changes nothing', 'Sends mail', 'May do everything that there is to be done in this area'],
  message: ['connection refused', 'the certificate ended', 'answered 502 where 200 was expected'],
  date: ['2026-07-28', '2026-07-27', '2026-07-26'],
  month: ['2026-07', '2026-06', '2026-05'],
  mediaType: ['application/vnd.oci.image.manifest.v1+json', 'application/vnd.oci.image.index.v1+json'],
  issuer: ['https://token.actions.githubusercontent.com', 'https://gitlab.com'],
  subjectPattern: ['repo:acme/web:ref:refs/heads/main', 'project_path:acme/web:*'],
  keyId: ['rk_7f3k2m9q', 'rk_0c6bn5hj', 'rk_v7r2xw38'],
  start: ['qd_pat_4kTz', 'qd_pat_x0Yq', 'qd_pat_Zb91'],
  state: ['delivered', 'queued', 'failed'],
  lastError: ['550 5.1.1 no such user here', '-', '451 4.7.1 greylisted, try again later'],
  kubeconfig: ['apiVersion: v1\nkind: Config\nclusters: []\n'],
  mode: ['shared', 'dedicated', 'shared'],
  size: ['db-small', 'db-medium', 'db-large'],
  serviceName: ['checkout', 'web', 'billing'],
  sourceName: ['prometheus', 'grafana', 'uptime'],
  displayName: ['Acme', 'Acme Labs', 'Operations'],
  channel: ['email', 'sms', 'voice'],
  eventType: ['email.delivered', 'email.bounced', 'email.received'],
  pattern: ['support@*', '*', 'billing-*@*'],
  target: ['tok_01kyq4mzt08xw3v7r2hj5bn0c6', 'mail.example.com', 'inc_01kyq4mzt28xw3v7r2hj5bn0c6'],
  vantage: ['eu-1', 'us-1', 'ap-1'],
  failingVantages: ['eu-1', 'us-1', 'ap-1'],
  errorKind: ['timeout', 'tls', 'status'],
  errorDetail: ['no answer in 10 s', 'the certificate ended', 'answered 502 where 200 was expected'],
  responseSnippet: ['', '', '<html><head><title>502 Bad Gateway</title></head></html>'],
  sentence: ['no escalation policy is attached', 'Bob has no phone number', 'the schedule Primary has a gap on Sunday'],
  service: ['uptime', 'email', 'oncall'],
  serviceLabel: ['Uptime', 'Email', 'On-call'],
  resource: ['monitor', 'domain', 'incident'],
  resourceLabel: ['Monitors', 'Services', 'Metrics'],
  roleName: ['Uptime viewer', 'Email admin', 'Deployer'],
  host: ['docker.io', 'ghcr.io', 'quay.io'],
  upstream: ['docker.io', 'ghcr.io', 'quay.io'],
  username: ['acme-bot', 'acme', 'mirror'],
  kind: ['opened', 'step_fired', 'page_sent'],
  byLabel: ['Ann', 'Bob', 'Carol Danvers'],
  body: ['We look into it', 'Found: a full disk', 'Fixed'],
  node: ['worker-1', 'worker-2', 'worker-3'],
  recipient: ['bob@customer.example', 'alice.liddell@wonderland.example', 'carol@customer.example'],
  current: ['1.32.10'],
  ip: ['198.51.100.7', '198.51.100.8', '198.51.100.9'],
  upgradesTo: ['1.34.2', '1.35.0'],
};

function text(parent: string, key: string, n: number): string {
  if (/digest/i.test(key)) return `sha256:${n}${hex.slice(1)}`;
  if (parent === 'EmailDomain' && key === 'name') return ['mail.example.com', 'news.example.com', 'example.org'][n % 3]!;
  if (key === 'status') return ['firing', 'resolved', 'firing'][n % 3]!;
  if (/^Cluster(Version|Upgrade)/.test(parent) && key === 'state') return ['supported', 'deprecated', 'expired'][n % 3]!;
  if (parent === 'IamGrant' && key === 'subject') return idText('usr', n);
  const known = texts[key];
  if (known) return known[n % known.length]!;
  if (key === 'id' || /Ids?$/.test(key)) return idText(prefixes[key] ?? prefixes[parent] ?? 'id', n);
  return `${key}-${n}`;
}
