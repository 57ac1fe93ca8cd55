import { existsSync, readFileSync } from 'node:fs';
import { resolve } from 'node:path';
import { parse } from 'smol-toml';
import { exitCodes, Stop } from './errors.ts';
import { type Role, roles } from './roles.ts';
import {
  address,
  bytes,
  choice,
  directoryUrl,
  domain,
  duration,
  durations,
  emailAddress,
  type Format,
  integer,
  internalPath,
  list,
  oneOf,
  orNone,
  path,
  privateNetwork,
  refuse,
  someOf,
  text,
  upstreams,
  url,
  userRange,
} from './setting-formats.ts';

// Every setting of the product: its key in quarterdeck.toml, from which QUARTERDECK_* follows, its default, its format and its meaning.

interface Setting<T> extends SettingOptions<T> {
  fallback: T;
  format: Format<T>;
  meaning: string;
}

interface SettingOptions<T> {
  secret?: boolean;
  /** The default where this server is the edge: it orders its own certificates, and no proxy is in front. */
  edgeFallback?: T;
  /** The parts of the product that the edge's default is for. Default: all. */
  edgeRole?: Role;
}

const setting = <T>(fallback: T, format: Format<T>, meaning: string, options: SettingOptions<T> = {}): Setting<T> => ({
  fallback,
  format,
  meaning,
  ...options,
});

const publicRegistries = [
  'docker.io=https://registry-1.docker.io',
  'ghcr.io',
  'quay.io',
  'registry.k8s.io',
  'gcr.io',
  'public.ecr.aws',
  'registry.gitlab.com',
  'mcr.microsoft.com',
];

const settings = {
  data: setting('./data', path, 'where everything is kept that is not in an external database or S3'),
  listen: setting(
    { host: '127.0.0.1', port: 8080 },
    address,
    'the API, the registry, status pages and docs; with acme and no proxy in front the default is [::]:443',
    { edgeFallback: { host: '::', port: 443 }, edgeRole: 'api' },
  ),
  public_url: setting('', url, 'how the outside reaches this server; links and registry logins use it. Default: what it listens on'),
  status_url: setting('', url, 'a host of its own for public status pages'),
  tls_cert: setting('', text, 'PEM file with the certificate chain; read again when it changes'),
  tls_key: setting('', text, 'PEM file with the private key'),
  http_listen: setting<{ host: string; port: number } | undefined>(
    undefined,
    orNone(address),
    'where plain HTTP is redirected to https, and a certificate authority finds its proofs; with acme and no proxy in front the default is [::]:80; empty: nowhere',
    { edgeFallback: { host: '::', port: 80 } },
  ),
  acme: setting(
    '',
    emailAddress,
    'your address: with it, certificates for the public host, the mail host and domains of status pages are ordered and renewed by themselves, and it hears of trouble',
  ),
  acme_directory: setting(
    'https://acme-v02.api.letsencrypt.org/directory',
    directoryUrl,
    'the certificate authority, by the URL of its ACME directory',
  ),
  acme_eab_kid: setting('', text, 'the key id of an account that you have at the authority, if it asks for one (external account binding)'),
  acme_eab_hmac: setting('', text, 'the key that belongs to acme_eab_kid, as the authority shows it (base64url)', { secret: true }),
  trusted_proxies: setting<string[]>([], list, 'addresses or CIDRs whose X-Forwarded-For and -Proto are believed'),
  metrics_listen: setting<{ host: string; port: number } | undefined>(
    undefined,
    orNone(address),
    'an address for /metrics alone, without a token',
  ),
  metrics_token: setting('', text, 'the bearer token that reads /metrics on the main port; none: closed there', { secret: true }),
  database_url: setting('', text, 'an existing PostgreSQL; without it, the embedded one runs', { secret: true }),
  database_direct_url: setting('', text, 'the same database past a pooler, for LISTEN', { secret: true }),
  database_pool: setting(12, integer(2, 200), 'connections kept for requests and background work'),
  body_memory: setting(
    128,
    bytes(32, 65_536, 'MiB'),
    'request bodies in memory at once; an organization may fill half of it, if it leaves as much',
  ),
  dns_servers: setting<string[]>([], list, 'host:port list used for every lookup the product makes; none: the system’s'),
  allow_private_cidrs: setting(
    '',
    text,
    'private addresses that outbound requests may reach: a list of CIDRs for all uses but node, or uptime=…;webhook=…;node=…; only=… closes all others',
  ),
  smtp_relay: setting('', text, 'smtp://user:password@host:port that takes the product’s own mail', { secret: true }),
  mail_from: setting('', text, 'the sender of the product’s own mail; default quarterdeck@<public host>'),
  mail_host: setting(
    '',
    text,
    'the name by which other mail servers know this one; stands in DNS records and greetings. Default: the public host',
  ),
  smtp_submission: setting({ host: '127.0.0.1', port: 2587 }, address, 'where programs hand in mail by SMTP, with STARTTLS'),
  smtps: setting({ host: '127.0.0.1', port: 2465 }, address, 'the same, with TLS from the first byte'),
  smtp_rate: setting(100, integer(0, 1_000_000), 'messages a second that one send key may hand in by SMTP; 0 turns the limit off'),
  smtp_inbound: setting(
    { host: '127.0.0.1', port: 2525 },
    address,
    'where other mail servers deliver mail for domains that receive; in production :25 of an address that the mail host has',
  ),
  smtp_inbound_rate: setting(50, integer(0, 1_000_000), 'messages a second that one address may deliver; 0 turns the limit off'),
  smtp_out_port: setting(25, integer(1, 65_535), 'the port on which other mail servers are spoken to'),
  email_smarthost: setting(
    '',
    text,
    'smtp://user:password@host:port that takes all outgoing mail; without it, it goes straight to its recipients',
    {
      secret: true,
    },
  ),
  email_daily_quota: setting(
    1_000,
    integer(0, 1e9),
    'recipients a day to whom an organization may send; `admin email quota` sets another for one',
  ),
  email_inbound_quota_bytes: setting(
    5 * 2 ** 30,
    bytes(0, 1e15),
    'received mail that an organization may have stored; content is kept for 30 days',
  ),
  storage: setting('', text, 's3://bucket/prefix for blobs and mail; without it, files below data'),
  s3_endpoint: setting('', url, 'the S3 server, when it is not AWS'),
  s3_region: setting('us-east-1', text, 'the S3 region'),
  s3_access_key: setting('', text, 'S3 access key id', { secret: true }),
  s3_redirect: setting(
    'on',
    choice('on', 'off'),
    'on: pulls are sent to the S3 server for their bytes; off: those come through here, for clients that cannot reach it',
  ),
  accel_redirect: setting(
    '',
    internalPath,
    'an internal location of the nginx in front, which is to send the files of layers itself, such as /layers; needs trusted_proxies',
  ),
  s3_secret_key: setting('', text, 'S3 secret access key', { secret: true }),
  heartbeat_url: setting('', url, 'asked every 30 s while pages go out in time, so that an outside watcher notices when they do not'),
  twilio_url: setting('https://api.twilio.com', url, 'the SMS and voice provider’s API'),
  payment_url: setting('', url, 'the payment provider’s adapter; without it, every organization counts as paying'),
  rate_limit: setting(
    600,
    integer(0, 1_000_000),
    'requests a minute on /api/v1 for each member, whatever their tokens; ten times as many for an organization; 0 turns it off',
  ),
  entitlements: setting<('email' | 'uptime')[]>(['email', 'uptime'], oneOf('email', 'uptime'), 'what a new organization is enabled for'),
  region: setting('local', text, 'the name of this place, shown on registries'),
  registry_upstreams: setting(
    upstreams.parse(publicRegistries.join(','), ''),
    upstreams,
    'registries that pulls go through to and are cached from: hosts, or host=https://endpoint; empty: none',
  ),
  registry_quota_bytes: setting(
    10 * 2 ** 30,
    bytes(0, 1e15),
    'how much a new registry may hold: its layers once, manifests in each repository, uploads and fetches under way',
  ),
  registry_gc_delay_seconds: setting(
    86_400,
    duration(60, 31_536_000),
    'how long a layer stays that no image needs, after a client was last told that it is here; longer than the slowest push of an image',
  ),
  registry_upload_seconds: setting(
    86_400,
    duration(60, 31_536_000),
    'how long an upload that was cut off waits for its client to go on; until then it counts against the quota',
  ),
  uptime_intervals: setting(
    [30, 60, 120, 300, 600, 1_800, 3_600],
    durations(5, 86_400),
    'intervals between checks that monitors may choose from; 5s is the shortest',
  ),
  uptime_monitor_quota: setting(50, integer(0, 1_000_000), 'how many monitors an organization may have'),
  uptime_canaries: setting<string[]>(
    [],
    list,
    'host:port list that a prober watches to know whether it is cut off itself; two or more that never fail together',
  ),
  cluster_listen: setting(
    { host: '127.0.0.1', port: 16_443 },
    address,
    'where clusters are reached: this port and those after it, one for each; port 0 lets the system choose',
  ),
  cluster_domain: setting('', domain, 'a DNS name below which every cluster has one of its own; then all share the port of cluster_listen'),
  cluster_binaries: setting(
    '',
    text,
    'where Kubernetes’ own programs are: kine, and a folder for each version; empty: clusters/bin in the data directory',
  ),
  cluster_mirror: setting(
    '',
    url,
    'where `admin clusters install` fetches from instead of the official releases: release/<version>/bin/linux/<arch>/…, kine/<version>/… and etcd/<version>/…',
  ),
  cluster_users: setting<{ first: number; last: number } | undefined>(
    undefined,
    orNone(userRange),
    'where the server is root: numbers of users that nobody else has, first-last; each cluster’s programs run as one of them. Empty: chosen',
  ),
  cluster_mesh_network: setting(
    '100.64.0.0/10',
    privateNetwork(8, 20),
    'where meshes of clusters get their networks, a /20 each; private or carrier-grade NAT, and nothing that nodes reach otherwise. Those that exist keep theirs',
  ),
  cluster_quota: setting(5, integer(0, 10_000), 'how many clusters an organization may have'),
  session_idle_seconds: setting(604_800, duration(300, 31_622_400, 's'), 'how long a person stays signed in without doing anything'),
  session_max_seconds: setting(2_592_000, duration(300, 31_622_400, 's'), 'how long a person stays signed in at most'),
  audit_days: setting(730, duration(0, 36_500, 'd'), 'how long the audit log is kept; 0: for ever'),
  audit_refused: setting('off', choice('on', 'off'), 'whether the audit log also has what people were refused for want of a right'),
  stop_notice_seconds: setting(
    1,
    duration(0, 300),
    'how long a server that SIGTERM stops still takes requests after /readyz has said so; longer than a proxy takes to ask twice',
  ),
  roles: setting<Role[]>([...roles], someOf(...roles), 'which parts of the product this process runs'),
  owner_email: setting('owner@localhost', text, 'the first owner’s address, used at the first start only'),
  log_level: setting(
    'info',
    choice('trace', 'debug', 'info', 'warn', 'error', 'fatal', 'silent'),
    'how much is logged: trace, debug, info, warn, error, fatal or silent',
  ),
} satisfies Record<string, Setting<unknown>>;

type Settings = typeof settings;
export type Key = keyof Settings;
export type Config = { readonly [K in Key]: Settings[K] extends Setting<infer T> ? T : never };

export interface ExplainedSetting {
  key: Key;
  env: string;
  value: unknown;
  /** As it is typed: parsed again, it gives the same value. */
  text: string;
  origin: 'default' | 'environment' | 'file';
  meaning: string;
}

/** A setting as documentation tells of it. */
export interface DescribedSetting {
  env: string;
  /** As it is typed; empty: none. */
  fallback: string;
  meaning: string;
}

export const describeSettings = (): DescribedSetting[] =>
  (Object.entries(settings) as [Key, Setting<unknown>][]).map(([key, { fallback, format, meaning }]) => ({
    env: envName(key),
    fallback: format.show(fallback),
    meaning: format.takes ? `${meaning} (${format.takes})` : meaning,
  }));

const envName = (key: string) => `QUARTERDECK_${key.toUpperCase()}`;

/** Parsed once, in main; no other code reads the environment. */
export function readConfig(env: NodeJS.ProcessEnv, cwd: string): { config: Config; explained: ExplainedSetting[] } {
  const file = env.QUARTERDECK_CONFIG ?? resolve(cwd, 'quarterdeck.toml');
  if (env.QUARTERDECK_CONFIG && !existsSync(file))
    throw new Stop(exitCodes.configuration, `QUARTERDECK_CONFIG names ${file}, which does not exist`);
  const fromFile = existsSync(file) ? readToml(file) : {};
  const givenText = (key: Key) => env[envName(key)] ?? (key in fromFile ? asText(fromFile[key], `${key} in ${file}`) : undefined);
  const isEdge = Boolean(givenText('acme')) && !givenText('trusted_proxies');
  const runs = givenText('roles');
  const defaultOf = ({ fallback, edgeFallback = fallback, edgeRole }: Setting<unknown>) =>
    isEdge && (edgeRole === undefined || runs === undefined || runs.split(',').some((role) => role.trim() === edgeRole))
      ? edgeFallback
      : fallback;
  const config: Record<string, unknown> = {};
  const explained: ExplainedSetting[] = [];
  for (const [key, s] of Object.entries(settings) as [Key, Setting<unknown>][]) {
    const origin = env[envName(key)] !== undefined ? 'environment' : key in fromFile ? 'file' : 'default';
    const raw = givenText(key);
    const value = raw === undefined ? defaultOf(s) : s.format.parse(raw, origin === 'file' ? `${key} in ${file}` : envName(key));
    config[key] = key === 'data' ? resolve(cwd, value as string) : value;
    const isHidden = s.secret && value;
    explained.push({
      key,
      env: envName(key),
      value: isHidden ? '(set)' : config[key],
      text: isHidden ? '(set)' : s.format.show(config[key]),
      origin,
      meaning: s.format.takes ? `${s.meaning} (${s.format.takes})` : s.meaning,
    });
  }
  return { config: config as unknown as Config, explained };
}

function readToml(file: string): Record<string, unknown> {
  let found: Record<string, unknown>;
  try {
    found = parse(readFileSync(file, 'utf8'));
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code)
      throw new Stop(exitCodes.configuration, `${file} cannot be read (${code}); run this as the user that the server has, or as root`);
    throw new Stop(exitCodes.configuration, `${file} is not valid TOML: ${(error as Error).message.split('\n')[0]}`);
  }
  for (const key of Object.keys(found))
    if (!Object.hasOwn(settings, key))
      throw new Stop(exitCodes.configuration, `${file} has an unknown setting "${key}"; \`quarterdeck config\` lists them all`);
  return found;
}

const asText = (value: unknown, key: string): string => {
  if (Array.isArray(value)) return value.map((v) => asText(v, key)).join(',');
  return typeof value === 'object' ? refuse(key, 'expected a single value or a list, found a table') : String(value);
};
