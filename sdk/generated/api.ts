// Generated from openapi/v1.json by scripts/sdk.ts; do not edit.
import type { CallOptions, Paged } from '../types.ts';

export interface Api {
  registry: RegistryApi;
  email: EmailApi;
  oncall: OncallApi;
  uptime: UptimeApi;
  status: StatusApi;
  clusters: ClustersApi;
  tokens: TokensApi;
  iam: IamApi;
  organization: OrganizationApi;
  account: AccountApi;
  overview: OverviewApi;
  live: LiveApi;
}

/** Container image registries, their images, keys and logins, OIDC access for CI, and the pull-through cache */
export interface RegistryApi {
  /** Log in for an hour. One credential for every registry the caller can reach: read-only where the caller may only read, or everywhere with `pullOnly`. It never exceeds the token that mints it: it is over when that one ends, if sooner, and is revoked with it. The password is returned only here. */
  createRegistryLogin: (input?: {
    /** The slug of the only registry it is for */
    registry?: string;
    pullOnly?: boolean;
  }, options?: CallOptions) => Promise<RegistryLogin>;

  /** Log out. Your own credential, whatever your roles are by now; to a narrowed token, one that it minted. Any other needs registry.key.admin. */
  revokeRegistryLogin: (keyId: string, options?: CallOptions) => Promise<void>;

  /** Swap an OIDC ID token for a registry key. OAuth 2.0 Token Exchange (RFC 8693), as form or JSON. The key is listed among the registry’s keys and can be revoked there. */
  exchangeRegistryOidcToken: (input: {
    grant_type?: 'urn:ietf:params:oauth:grant-type:token-exchange';
    /** The ID token */
    subject_token: string;
    subject_token_type?: 'urn:ietf:params:oauth:token-type:id_token' | 'urn:ietf:params:oauth:token-type:jwt';
    /** The slug of the registry */
    audience: string;
    /** The most that the matching rules allow by default */
    scope?: 'pull' | 'readwrite';
  }, options?: CallOptions) => Promise<{
    /** The same as `password` */
    access_token: string;
    issued_token_type: string;
    token_type: string;
    /** Seconds */
    expires_in: number;
    keyId: string;
    username: string;
    password: string;
    /** ISO 8601, UTC, with milliseconds */
    expiresAt: string;
    /** The host to log in to */
    registry: string;
    mode: 'pull' | 'readwrite';
    repoPrefixes: string[];
  }>;

  /** List registries */
  listRegistries: (options?: CallOptions) => Promise<{
    registries: Registry[];
  }>;

  /** Create a registry. Images are then `HOST/<slug>/<repository>`. The slug is unique everywhere and can never be changed. */
  createRegistry: (input: {
    /** 3 to 40 lower-case letters, digits and hyphens, no hyphen at the ends */
    slug: string;
    /** Trimmed; 1 to 100 characters */
    displayName?: string;
    /** The server’s own region by default */
    region?: string;
  }, options?: CallOptions) => Promise<Registry>;

  /** One registry with quota and usage */
  getRegistry: (slug: string, options?: CallOptions) => Promise<RegistryDetail>;

  /** Change a registry’s name and rules. Immutable tags can neither move nor be deleted, nor what they lead to, until the rule is changed. Retention removes old tags and untagged images with what is attached to them. Both are replaced whole. */
  updateRegistry: (slug: string, input?: {
    /** Trimmed; 1 to 100 characters */
    displayName?: string;
    /** Tags that can neither move nor be deleted, nor what they lead to; empty: none */
    immutableTags?: string[];
    /** Empty: everything stays. What is attached to an image (signatures, attestations, SBOMs) stays and goes with it */
    retention?: {
      /** Untagged images go so many days after they were pushed and last pulled */
      untaggedDays?: number;
      /** The first rule that fits a tag decides; a tag that none fits stays */
      rules?: {
        /** A repository’s name in lower case, where `*` stands for any run of characters: `team/*`; absent: all */
        repositories?: string;
        /** A tag, where `*` stands for any run of characters: `v1.*`; absent: all */
        tags?: string;
        /** The newest so many tags of a repository stay; signatures and whatever else is attached to an image are not counted */
        keepLast?: number;
        /** Tags pushed or pulled within so many days stay */
        keepDays?: number;
      }[];
    };
  }, options?: CallOptions) => Promise<RegistryDetail>;

  /** Delete an empty registry */
  deleteRegistry: (slug: string, options?: CallOptions) => Promise<void>;

  /** One image: platforms, layers and what is attached. By a tag or a digest. Manifests of at most 256 KiB are read for their layers, 4 MiB in all; the platform of a single image is read from its configuration, if that has at most 1 MiB. */
  getRegistryImage: (slug: string, input: {
    /** A repository’s name below the registry, in lower-case letters and digits with . _ - or / between them, such as team/app */
    repo: string;
    /** A tag, or a digest */
    reference: string;
  }, options?: CallOptions) => Promise<RegistryImage>;

  /** List registry keys. Revoked and expired ones stay listed for 90 days; of these and of those that jobs have minted, the newest 1,000 are. Secrets are never shown again. */
  listRegistryKeys: (slug: string, options?: CallOptions) => Promise<{
    keys: RegistryKey[];
  }>;

  /** Mint a registry key. A long-lived login of the organization’s: keyId and secret are user name and password. It outlives the token that mints it; callers with registry.key.admin see and revoke it. The secret is returned only here. */
  createRegistryKey: (slug: string, input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    mode: 'pull' | 'readwrite';
    /** Whole path segments: `team` covers team and team/app, never teams; absent: every repository */
    repoPrefixes?: string[];
  }, options?: CallOptions) => Promise<{
    keyId: string;
    secret: string;
  }>;

  /** Revoke a registry key for good */
  revokeRegistryKey: (slug: string, keyId: string, options?: CallOptions) => Promise<void>;

  /** List a repository’s manifests. Tagged and untagged, newest first. */
  listRegistryManifests: Paged<(slug: string, input: {
    /** A repository’s name below the registry, in lower-case letters and digits with . _ - or / between them, such as team/app */
    repo: string;
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    manifests: RegistryManifest[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Delete an image by digest. With its tags, and with what it lists (an index) and what is attached to it (signatures, SBOMs), unless that has a tag or ever had one: somebody may still pull it by its digest. Blobs that nothing else in the repository refers to are freed. */
  deleteRegistryManifest: (slug: string, input: {
    /** A repository’s name below the registry, in lower-case letters and digits with . _ - or / between them, such as team/app */
    repo: string;
    /** `sha256:` and 64 hex digits in lower case, or `sha512:` and 128 of them */
    digest: string;
  }, options?: CallOptions) => Promise<void>;

  /** List OIDC access rules */
  listRegistryOidcRules: (slug: string, options?: CallOptions) => Promise<{
    rules: RegistryOidcRule[];
  }>;

  /** Let CI log in by OIDC. A job that proves issuer, audience and subject by its ID token gets a registry key for at most an hour, without any stored secret. */
  createRegistryOidcRule: (slug: string, input: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
    /** https, exactly as in the token’s `iss` */
    issuer: string;
    audience: string;
    /** The whole subject; `*` stays inside one `:`-separated part, `**` crosses; at most 16 of them: `repo:acme/app:ref:refs/heads/*` */
    subjectPattern: string;
    mode: 'pull' | 'readwrite';
    /** Only these repositories, by whole path segments */
    repoPrefixes?: string[];
  }, options?: CallOptions) => Promise<RegistryOidcRule>;

  /** Would this subject match?. Compares the claims of an ID token with the rules of the registry, as the exchange does, and says which rule would admit it. An issuer or audience that is left out is not compared. With `subjectPattern` that pattern is compared instead, before it is saved. Nothing is minted. */
  matchRegistryOidcSubject: (slug: string, input: {
    /** The `sub` of the token */
    subject: string;
    /** Its `iss` */
    issuer?: string;
    /** Its `aud` */
    audience?: string;
    mode?: 'pull' | 'readwrite';
    /** A pattern to try instead of the rules */
    subjectPattern?: string;
  }, options?: CallOptions) => Promise<{
    admitted: boolean;
    /** The rule whose key the job would get */
    ruleId?: number;
    mode?: 'pull' | 'readwrite';
    /** Oldest first; empty with `subjectPattern` */
    rules: {
      id: number;
      name: string;
      subjectPattern: string;
      mode: 'pull' | 'readwrite';
      matches: boolean;
      /** The first claim that the rule does not take */
      mismatch?: 'issuer' | 'audience' | 'subject';
    }[];
  }>;

  /** Delete an OIDC access rule. Keys minted by it are revoked too. */
  deleteRegistryOidcRule: (slug: string, id: number, options?: CallOptions) => Promise<void>;

  /** List repositories. By name. */
  listRegistryRepositories: Paged<(slug: string, input?: {
    /** The beginning of the names to list, in lower-case letters and digits with . _ - or / between them, such as team/ */
    prefix?: string;
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    repositories: RegistryRepository[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Delete a repository. With every manifest, tagged or not, its tags and its blobs. */
  deleteRegistryRepository: (slug: string, input: {
    /** A repository’s name below the registry, in lower-case letters and digits with . _ - or / between them, such as team/app */
    repo: string;
  }, options?: CallOptions) => Promise<void>;

  /** List a repository’s tags. By name. */
  listRegistryTags: Paged<(slug: string, input: {
    /** A repository’s name below the registry, in lower-case letters and digits with . _ - or / between them, such as team/app */
    repo: string;
    /** The beginning of the tags to list, at most 128 letters, digits, dots, hyphens and underscores, such as v1.2 */
    prefix?: string;
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    tags: RegistryTag[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Delete a tag. Only the tag: its manifest stays, untagged. With `purge=true`, which needs registry.image.admin, an image that lost its last tag is deleted too, with what it lists and what is attached to it (signatures, SBOMs) unless that has a tag or ever had one, and its space reclaimed; `purged` says whether that happened. */
  deleteRegistryTag: (slug: string, input: {
    /** A repository’s name below the registry, in lower-case letters and digits with . _ - or / between them, such as team/app */
    repo: string;
    /** A tag of at most 128 letters, digits, dots, hyphens and underscores, such as v1.2 */
    tag: string;
    /** false by default */
    purge?: 'true' | 'false';
  }, options?: CallOptions) => Promise<{
    purged: boolean;
  }>;

  /** List your upstream logins. User names only; passwords are never shown. */
  listRegistryUpstreamCredentials: (slug: string, options?: CallOptions) => Promise<{
    upstreamCredentials: RegistryUpstreamCredential[];
  }>;

  /** Bring your own login for an upstream. Tried with the upstream first; nothing is stored unless it takes it. Pulls then count against your limits there, and what is cached is only yours. */
  setRegistryUpstreamCredential: (slug: string, host: string, input: {
    username: string;
    /** Kept sealed, never returned */
    password: string;
  }, options?: CallOptions) => Promise<{
    upstream: string;
    username: string;
  }>;

  /** Forget an upstream login */
  deleteRegistryUpstreamCredential: (slug: string, host: string, options?: CallOptions) => Promise<void>;

  /** Storage by day against the quota. Figures are noted every hour and kept for 400 days. */
  getRegistryUsage: (slug: string, input?: {
    /** 90 by default, today included */
    days?: number;
  }, options?: CallOptions) => Promise<RegistryUsage>;

  /** What may be cached. The upstream registries that a pull goes through to and is cached from. */
  listRegistryUpstreams: (options?: CallOptions) => Promise<{
    upstreams: RegistryUpstream[];
  }>;
}

/** Sending domains, send keys, inbound routes, the message log, suppressions and webhooks */
export interface EmailApi {
  /** List domains */
  listDomains: (options?: CallOptions) => Promise<{
    domains: EmailDomain[];
  }>;

  /** Register a sending domain. Answers with the DNS records to publish. Verification starts by itself and goes on for 14 days. */
  createDomain: (input: {
    /** A domain name, such as mail.example.com */
    name: string;
  }, options?: CallOptions) => Promise<EmailDomain>;

  /** One domain with its DNS records */
  getDomain: (id: string, options?: CallOptions) => Promise<EmailDomain>;

  /** Delete a domain. Deletes its routes too; its messages stay in the log. */
  deleteDomain: (id: string, options?: CallOptions) => Promise<void>;

  /** Verify a domain soon. Schedules a verification pass; at most one every 10 seconds is made. */
  checkDomain: (id: string, options?: CallOptions) => Promise<{
    /** `scheduled` */
    status: string;
  }>;

  /** What the DNS says now. One observation for each expected record, looked up as you ask; it does not change the verification state. */
  getDomainDns: (id: string, options?: CallOptions) => Promise<{
    records: EmailDnsObservation[];
  }>;

  /** Arm a domain for receiving. Answers with the MX record to publish. Receiving is exclusive: pointing a mailbox domain’s MX here breaks its existing mail, so arm a subdomain of its own. Arming an armed domain changes nothing. */
  armDomainReceiving: (id: string, options?: CallOptions) => Promise<EmailDomain>;

  /** List send keys. Secrets are never shown again. A caller whose role is granted on domains sees the keys that send for none but these. */
  listSendKeys: (options?: CallOptions) => Promise<{
    sendKeys: EmailSendKey[];
  }>;

  /** Mint a send key. The secret is the bearer for HTTP sending and the password for SMTP submission. It is returned only here. A caller whose role is granted on domains names these, or some of them, in `domainIds`. */
  createSendKey: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    /** Only for mail from these domains; absent: from every domain of the organization */
    domainIds?: string[];
  }, options?: CallOptions) => Promise<{
    sendKey: EmailSendKey;
    secret: string;
  }>;

  /** Revoke a send key for good. A caller whose role is granted on domains revokes the keys that send for none but these. */
  revokeSendKey: (id: string, options?: CallOptions) => Promise<void>;

  /** Search the message log. The last 90 days, newest first, 50 a page. Pass the cursor back, with the same filters, for the next page. */
  listMessages: Paged<(input?: {
    direction?: 'send' | 'receive';
    state?: string;
    /** Only of this domain */
    domainId?: string;
    /** An exact address, in any case, among the recipients */
    to?: string;
    /** ISO 8601 with an offset or Z */
    since?: string;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    messages: EmailMessage[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** One message and what happened to it. The deferrals and events of a recipient are its attempts, each with the words of the other server in `detail`: `response`, `code`, `mx`, `ip` and `tls`. */
  getMessage: (id: string, options?: CallOptions) => Promise<{
    message: EmailMessage;
    /** Oldest first; the first 1,000 */
    events: EmailMessageEvent[];
    /** Attempts that another server put off, or that reached none, oldest first; of those that reach none in a row with one reason, the first; always present */
    deferrals?: EmailDeferral[];
    /** The first 1,000; empty for a received message; always present */
    recipients?: EmailRecipient[];
  }>;

  /** Cancel a scheduled message. With a send key that may send for its domain. Nothing of it is sent; the log shows it as failed. Once more changes nothing. */
  cancelMessage: (id: string, options?: CallOptions) => Promise<EmailAccepted>;

  /** The raw message. Kept for 30 days; streamed. */
  getMessageContent: (id: string, options?: CallOptions) => Promise<Response>;

  /** List inbound routes */
  listRoutes: (options?: CallOptions) => Promise<{
    routes: EmailRoute[];
  }>;

  /** Route inbound mail to a webhook. The domain must be armed for receiving. An exact pattern wins over a prefix, a longer prefix over a shorter one. The endpoint gets `email.received` for its matches whatever it subscribes to. */
  createRoute: (input: {
    /** The receiving domain */
    domainId: string;
    /** The local part of an address, at most 64 letters, digits, dots and signs such as + or -, or its beginning and a star, or a lone star: `support`, `team-*`, `*` */
    pattern: string;
    /** A webhook endpoint of the organization */
    endpointId: string;
  }, options?: CallOptions) => Promise<EmailRoute>;

  /** Where would this address go?. Decides as for mail that arrives, by the routes and domains of now. Nothing is sent. */
  matchRoute: (input: {
    /** An address such as support@example.com */
    address: string;
  }, options?: CallOptions) => Promise<{
    /** With its domain in lower-case ASCII */
    address: string;
    /** `routed`: accepted; `unverified`: put off until the records of the domain are found; the others are refused, except reports */
    outcome: 'routed' | 'unverified' | 'no_route' | 'not_received' | 'return_path';
    /** What happens to the mail, and what to do about it */
    sentence: string;
    domainId?: string;
    routeId?: string;
    pattern?: string;
    endpointId?: string;
    /** Whether its deliveries fail, because the endpoint is disabled */
    endpointDisabled?: boolean;
  }>;

  /** Delete an inbound route */
  deleteRoute: (id: string, options?: CallOptions) => Promise<void>;

  /** Send a message. Accepted means stored: it will be delivered, or you hear why not. At most 50 recipients. */
  sendEmail: (input: EmailSend, options?: CallOptions) => Promise<EmailAccepted>;

  /** Send many messages. At most 100, all or none of them; answered in the same order. */
  sendEmailBatch: (input: {
    messages: EmailSend[];
  }, options?: CallOptions) => Promise<{
    messages: EmailAccepted[];
  }>;

  /** Quota and sending posture. Read-only: the operator of this server raises quotas and lifts a pause. */
  getEmailSettings: (options?: CallOptions) => Promise<EmailSettings>;

  /** Outcomes by day, against the pause limits. Recipients by the day of UTC on which their outcome was learnt, every day from `from` to `to`: by default the last 30, at most 400. One that is delivered and complains later counts in both. The addresses of the simulator count nowhere. */
  getEmailStats: (input?: {
    /** ISO 8601 with an offset or Z */
    from?: string;
    /** ISO 8601 with an offset or Z */
    to?: string;
    /** Only of this domain */
    domainId?: string;
  }, options?: CallOptions) => Promise<EmailStats>;

  /** List suppressed addresses. Addresses that get no mail from the organization: they bounced, complained, or were added by hand. Newest first. */
  listSuppressions: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    suppressions: EmailSuppression[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Suppress an address. One that is suppressed already is answered with its entry, whatever the reason. */
  createSuppression: (input: {
    address: string;
  }, options?: CallOptions) => Promise<EmailSuppression>;

  /** Deliver to an address again. The next hard bounce adds it again. */
  deleteSuppression: (id: string, options?: CallOptions) => Promise<void>;

  /** Recent deliveries. Newest first. */
  listWebhookDeliveries: Paged<(input?: {
    /** Only about this message */
    messageId?: string;
    /** Only to this endpoint */
    endpointId?: string;
    /** At most this many; 100 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    deliveries: EmailDelivery[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** One delivery with its payload. The payload is what every attempt sends, byte by byte. */
  getWebhookDelivery: (id: number, options?: CallOptions) => Promise<{
    delivery: EmailDelivery;
    /** The header `webhook-id`, the same in every attempt */
    webhookId: string;
    /** Absent where it tells of a message, domain or suppression that the caller may not read, or is past its time */
    payload?: string;
  }>;

  /** Deliver again. Queues a new delivery of the same payload, to the endpoint’s present address and signed with its present secret. */
  redeliverWebhook: (id: number, options?: CallOptions) => Promise<{
    id: number;
  }>;

  /** List webhook endpoints */
  listWebhooks: (options?: CallOptions) => Promise<{
    webhooks: EmailWebhook[];
  }>;

  /** Create a webhook endpoint. Payloads are signed as Standard Webhooks 1.0 says. The signing secret is returned only here and on rotation. */
  createWebhook: (input: {
    /** http or https; addresses in private ranges are refused */
    url: string;
    eventTypes: ('email.sent' | 'email.delivered' | 'email.delivery_delayed' | 'email.bounced' | 'email.complained' | 'email.failed' | 'email.suppressed' | 'email.received' | 'domain.updated' | 'suppression.created' | 'suppression.deleted' | 'sending.paused' | 'sending.resumed')[];
  }, options?: CallOptions) => Promise<{
    webhook: EmailWebhook;
    /** `whsec_…`, for verifying signatures by Standard Webhooks 1.0 */
    signingSecret: string;
  }>;

  /** Change, disable or enable a webhook endpoint. Disabling fails the deliveries that still wait; redeliver them afterwards if they matter. */
  updateWebhook: (id: string, input?: {
    /** http or https; addresses in private ranges are refused */
    url?: string;
    eventTypes?: ('email.sent' | 'email.delivered' | 'email.delivery_delayed' | 'email.bounced' | 'email.complained' | 'email.failed' | 'email.suppressed' | 'email.received' | 'domain.updated' | 'suppression.created' | 'suppression.deleted' | 'sending.paused' | 'sending.resumed')[];
    disabled?: boolean;
  }, options?: CallOptions) => Promise<EmailWebhook>;

  /** Delete a webhook endpoint */
  deleteWebhook: (id: string, options?: CallOptions) => Promise<void>;

  /** Rotate a signing secret. The old one stops signing immediately. */
  rotateWebhookSecret: (id: string, options?: CallOptions) => Promise<{
    /** `whsec_…`, for verifying signatures by Standard Webhooks 1.0 */
    signingSecret: string;
  }>;
}

/** Incidents, schedules, escalation policies, alert sources and who is paged how */
export interface OncallApi {
  /** List alert sources. Each is an Alertmanager-compatible entry point bound to one service. Tokens are never shown again. */
  listAlertSources: (options?: CallOptions) => Promise<{
    sources: OncallAlertSource[];
  }>;

  /** Create an alert source. Point a webhook receiver at /api/v1/oncall/alert-sources/{id}/alerts with the token as bearer. The token is returned only here. */
  createAlertSource: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    /** The service whose incidents its alerts open */
    serviceId: string;
  }, options?: CallOptions) => Promise<{
    id: string;
    name: string;
    serviceId: string;
    token: string;
    /** ISO 8601, UTC, with milliseconds */
    createdAt: string;
  }>;

  /** Revoke an alert source for good. Immediate: deliveries under way get 401. */
  revokeAlertSource: (id: string, options?: CallOptions) => Promise<void>;

  /** Deliver alerts (Alertmanager webhook, version 4). Answered only once the alerts are stored. State is kept for each fingerprint, so repeated deliveries change nothing and mixed groups are taken apart. */
  receiveAlerts: (id: string, input: AlertmanagerWebhook, options?: CallOptions) => Promise<OncallIngest>;

  /** Deliver alerts (Prometheus itself). For Prometheus without an Alertmanager: give it /api/v1/oncall/alert-sources/{id} as path_prefix of an alertmanager. */
  receivePrometheusAlerts: (id: string, input: {
    body: PrometheusAlert[];
  }, options?: CallOptions) => Promise<OncallIngest>;

  /** Whether somebody would be paged for each service, and if not, why. Looks at policies, schedules and overrides of the next seven days, paging settings, the relay, the provider, and what became of the last pages. The same runs once a day by itself and writes to the owners when something is wrong or has changed; `report` says how that went. */
  examineOncall: Paged<(input?: {
    /** At most this many services; 50 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    /** ISO 8601, UTC, with milliseconds */
    at: string;
    services: OncallDiagnosis[];
    report?: OncallReport;
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** List escalation policies */
  listEscalationPolicies: (options?: CallOptions) => Promise<{
    policies: OncallEscalationPolicy[];
  }>;

  /** Create an escalation policy */
  createEscalationPolicy: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    /** Further passes through the steps after the first */
    repeat: number;
    /** In order, until somebody acknowledges; a step that reaches no one goes on at once */
    steps: OncallEscalationStepInput[];
    /** Seconds after which the person who acknowledged is paged again, repeatedly, while the incident is not resolved; at least 300, or 0: never, which is the default */
    remindAfterSeconds?: number;
  }, options?: CallOptions) => Promise<OncallEscalationPolicy>;

  /** Change an escalation policy. Steps are replaced whole. Incidents under way keep the copy of the policy they opened with. */
  updateEscalationPolicy: (id: string, input?: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
    /** Further passes through the steps after the first */
    repeat?: number;
    /** In order, until somebody acknowledges; a step that reaches no one goes on at once */
    steps?: OncallEscalationStepInput[];
    /** Seconds after which the person who acknowledged is paged again, repeatedly, while the incident is not resolved; at least 300, or 0: never, which is the default */
    remindAfterSeconds?: number;
  }, options?: CallOptions) => Promise<OncallEscalationPolicy>;

  /** Delete an escalation policy */
  deleteEscalationPolicy: (id: string, options?: CallOptions) => Promise<void>;

  /** List incidents. Newest first, at most 100 at once. Without a status: the working set, open and acknowledged ones. */
  listIncidents: Paged<(input?: {
    status?: 'open' | 'acknowledged' | 'resolved';
    /** Only those of this service; of one that the caller may not see, none */
    serviceId?: string;
    /** At most this many; 100 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    incidents: OncallIncident[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Open an incident by hand. Pages like one that an alert opened. It never resolves by itself, not even when alerts that joined it have ended. */
  openIncident: (input: {
    /** The service that is affected */
    serviceId: string;
    /** Trimmed; 1 to 200 characters */
    title: string;
    description?: string;
  }, options?: CallOptions) => Promise<OncallIncident>;

  /** One incident with its alerts and timeline */
  getIncident: (id: string, options?: CallOptions) => Promise<OncallIncidentDetail>;

  /** Acknowledge an incident. Stops the escalation: no further pages go out. Alerts keep attaching. Acknowledging an acknowledged incident changes nothing. */
  acknowledgeIncident: (id: string, options?: CallOptions) => Promise<OncallIncident>;

  /** Acknowledge an incident (the word in full). Stops the escalation: no further pages go out. Alerts keep attaching. Acknowledging an acknowledged incident changes nothing. */
  acknowledgeIncidentAlias: (id: string, options?: CallOptions) => Promise<OncallIncident>;

  /** Resolve an incident. Final: what fires after it opens a new incident. Pages not yet on their way are canceled. */
  resolveIncident: (id: string, options?: CallOptions) => Promise<OncallIncident>;

  /** An incident from the first failing probe to the last mail. One time axis over all areas: what the probes of its monitors saw by vantage, alerts, escalation, each page and its fate, acknowledgement, updates, and what became of the mails to subscribers. `before` is what changed in the hour before it opened; pushes, edits and phases of clusters while it lasted are on the axis. Each area tells what the caller may read: `withheld` names the rest without its contents. */
  getIncidentStory: (id: string, options?: CallOptions) => Promise<{
    incident: OncallIncident;
    /** Oldest first; the newest 200 */
    before: OncallStoryEntry[];
    /** Oldest first; of more than 1,000 the first and the last 500 */
    entries: OncallStoryEntry[];
    /** Entries are left out of `before` or `entries`, because there are too many */
    truncated: boolean;
    /** What the caller may not read; told by rights alone, whether or not there is any of it */
    withheld: OncallStoryWithheld[];
    /** Areas whose part is missing, though the caller may read it; empty when the answer is whole */
    unavailable: Unavailable[];
  }>;

  /** Publish an update. The first one makes the incident visible on status pages that show its service; the timeline stays internal. Possible after resolution too. The author’s label comes from the session. */
  publishIncidentUpdate: (id: string, input: {
    /** Plain text, shown to the public */
    body: string;
    /** postmortem: what happened and why, once the incident is resolved */
    kind?: 'update' | 'postmortem';
  }, options?: CallOptions) => Promise<OncallUpdate>;

  /** Retract an update. Deletes it from the public page for good. After the last one the incident disappears from status pages. */
  retractIncidentUpdate: (id: string, uid: string, options?: CallOptions) => Promise<void>;

  /** How you are paged. Your own settings, phone number included, and the same in every organization of yours: a token that is narrowed to roles is refused. */
  getPagingSettings: (options?: CallOptions) => Promise<OncallPaging>;

  /** Save how you are paged. Replaces everything, in every organization of yours: without a phone the one you gave is forgotten. sms and voice need your phone and the organization’s provider; one that has none cannot page you by them. A token that is narrowed to roles is refused. */
  savePagingSettings: (input: {
    /** In E.164 format, such as +33612345678 */
    phone?: string;
    rules: OncallNotificationRuleInput[];
  }, options?: CallOptions) => Promise<OncallPaging>;

  /** Page me now. Sends one test page to the caller by each channel of their rules, or by the channels named, as a page of an incident goes. At most one test a minute of a person. A `warning` says what is known to keep a page away; it is tried all the same. A token that is narrowed to roles is refused. */
  testPaging: (input?: {
    /** Those of your rules by default */
    channels?: ('email' | 'sms' | 'voice')[];
  }, options?: CallOptions) => Promise<OncallPagingTest>;

  /** What became of my test pages. Of the newest test in this organization; `pages` is empty before the first. A page by mail is `sent` once the relay has accepted it, an SMS is `delivered` by the provider’s report, and each is `confirmed` when you answer it. A failed page has its reason in `error`. A token that is narrowed to roles is refused. */
  getPagingTest: (options?: CallOptions) => Promise<OncallPagingTest>;

  /** The SMS and voice provider. The organization’s own account, billed by the provider for the pages sent. The auth token is never shown. */
  getProvider: (options?: CallOptions) => Promise<OncallProvider>;

  /** Set the SMS and voice provider. The credentials are tried with the provider first; nothing is stored unless it takes them. */
  setProvider: (input: {
    /** A Twilio account: AC and 32 hex digits */
    accountSid: string;
    /** Kept sealed, never returned */
    authToken: string;
    /** A number of the account, in E.164 format */
    fromNumber: string;
  }, options?: CallOptions) => Promise<OncallProvider>;

  /** Forget the SMS and voice provider. Afterwards each sms and voice page fails visibly for want of a credential; none is dropped silently. */
  clearProvider: (options?: CallOptions) => Promise<void>;

  /** List schedules and who is on call now. Each is one rotation with its overrides. `onCallNow` is computed as you read it; an active override wins outright. */
  listSchedules: (options?: CallOptions) => Promise<{
    schedules: OncallSchedule[];
  }>;

  /** Create a schedule. The first participant is on call from its creation until the first handoff. */
  createSchedule: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    /** An IANA name, such as Europe/Paris */
    timezone: string;
    /** In the order in which they take turns; reordering shifts the rotation; empty: no one is on call */
    participants: OncallParticipantInput[];
    handoff: OncallHandoffInput;
  }, options?: CallOptions) => Promise<OncallSchedule>;

  /** Change a schedule. Participants and handoff are replaced whole. Adding or removing participants, or another time zone or handoff, leaves the current shift to the person now on call; another order of the same people shifts the rotation. */
  updateSchedule: (id: string, input?: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
    /** An IANA name, such as Europe/Paris */
    timezone?: string;
    /** In the order in which they take turns; reordering shifts the rotation; empty: no one is on call */
    participants?: OncallParticipantInput[];
    handoff?: OncallHandoffInput;
  }, options?: CallOptions) => Promise<OncallSchedule>;

  /** Delete a schedule */
  deleteSchedule: (id: string, options?: CallOptions) => Promise<void>;

  /** List the links by which calendars subscribe to a schedule. Newest first; a schedule has 20 at most. The addresses are never shown again. */
  listCalendarLinks: (id: string, options?: CallOptions) => Promise<{
    links: OncallCalendarLink[];
  }>;

  /** Make a link by which a calendar subscribes to a schedule. Anyone with the address sees who is on call when, without a token: give each calendar its own, so that one can be revoked. The address is returned only here. */
  createCalendarLink: (id: string, input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
  }, options?: CallOptions) => Promise<{
    id: string;
    name: string;
    link: string;
    /** ISO 8601, UTC, with milliseconds */
    createdAt: string;
  }>;

  /** Revoke a calendar’s link for good */
  revokeCalendarLink: (id: string, linkId: string, options?: CallOptions) => Promise<void>;

  /** The shifts as an iCalendar feed. From 28 days ago for a year, in UTC, with stable event ids, so that a calendar can subscribe to it. */
  getScheduleCalendar: (id: string, options?: CallOptions) => Promise<Response>;

  /** Put somebody on call for a while. A one-off substitution, resolved before escalation targets are computed. Where overrides overlap the one made last wins. */
  addScheduleOverride: (id: string, input: {
    /** A member of the organization */
    userId: string;
    /** How the person is shown; empty: their name in the directory */
    label: string;
    /** ISO 8601 with an offset or Z */
    startsAt: string;
    /** ISO 8601 with an offset or Z */
    endsAt: string;
  }, options?: CallOptions) => Promise<OncallOverride>;

  /** Remove an override */
  removeScheduleOverride: (id: string, oid: string, options?: CallOptions) => Promise<void>;

  /** Who is on call when. The same computation that pages: rotation and overrides, oldest first. By default from now for 28 days; at most 366 days at once, in the years 2000 to 2099. */
  listScheduleShifts: (id: string, input?: {
    /** ISO 8601 with an offset or Z */
    from?: string;
    /** ISO 8601 with an offset or Z */
    to?: string;
  }, options?: CallOptions) => Promise<{
    shifts: OncallShift[];
  }>;

  /** List services and their escalation policies. The catalog is shared with uptime: both areas show the same services. */
  listOncallServices: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    services: OncallService[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Create a service. Makes the same row as creating it under /uptime/services, without needing the Uptime entitlement. */
  createOncallService: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
  }, options?: CallOptions) => Promise<OncallService>;

  /** Attach or detach an escalation policy. Takes effect for incidents opened from now on: those under way keep the copy of the policy they opened with. */
  setServicePolicy: (id: string, input: {
    /** The id of an escalation policy; null detaches */
    escalationPolicyId: string | null;
  }, options?: CallOptions) => Promise<OncallService>;

  /** Attach or detach an escalation policy (as PATCH). The same as PUT, except that an absent field changes nothing. */
  updateOncallService: (id: string, input?: {
    /** The id of an escalation policy; null detaches */
    escalationPolicyId?: string | null;
  }, options?: CallOptions) => Promise<OncallService>;

  /** Who would be paged when. Walks the attached policy for an incident opened at that time and never acknowledged, with what is known now of schedules, overrides and paging settings. */
  previewServiceEscalation: (id: string, input?: {
    /** ISO 8601 with an offset or Z */
    at?: string;
  }, options?: CallOptions) => Promise<OncallPreview>;

  /** Who is on call when, in every schedule. The shifts of all schedules in one answer, oldest first, with the times in which a schedule has no person on call. By default from now for 28 days, at most 62 days at once. A window with more than 10,000 shifts is refused. */
  listShifts: (input?: {
    /** ISO 8601 with an offset or Z */
    from?: string;
    /** ISO 8601 with an offset or Z */
    to?: string;
    /** Only the caller’s own shifts, and no gaps; false by default */
    mine?: boolean;
  }, options?: CallOptions) => Promise<{
    /** ISO 8601, UTC, with milliseconds */
    from: string;
    /** ISO 8601, UTC, with milliseconds */
    to: string;
    /** By name; also those without a shift in the window */
    schedules: {
      id: string;
      name: string;
      timezone: string;
    }[];
    shifts: {
      scheduleId: string;
      scheduleName: string;
      userId: string;
      /** The name of the person */
      label: string;
      /** Whether the person is the caller */
      mine: boolean;
      /** ISO 8601, UTC, with milliseconds */
      startsAt: string;
      /** ISO 8601, UTC, with milliseconds */
      endsAt: string;
      /** Present when an override put them there */
      overrideId?: string;
    }[];
    /** No person of the schedule is on call; absent with `mine` */
    gaps?: {
      scheduleId: string;
      scheduleName: string;
      /** ISO 8601, UTC, with milliseconds */
      startsAt: string;
      /** ISO 8601, UTC, with milliseconds */
      endsAt: string;
    }[];
  }>;
}

/** Services, HTTP and TCP monitors, what the probes saw, and metrics for scrapers */
export interface UptimeApi {
  /** Intervals and vantages on offer */
  getUptimeCatalog: (options?: CallOptions) => Promise<{
    intervals: UptimeInterval[];
    vantages: UptimeVantage[];
  }>;

  /** List export tokens */
  listExportTokens: (options?: CallOptions) => Promise<{
    tokens: UptimeExportToken[];
  }>;

  /** Mint an export token. Lets a metrics scraper read all monitors of the organization until it is revoked. The token is returned only here. */
  createExportToken: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
  }, options?: CallOptions) => Promise<{
    id: string;
    name: string;
    token: string;
    /** ISO 8601, UTC, with milliseconds */
    createdAt: string;
  }>;

  /** Revoke an export token for good. Immediate: scrapes under way get 401. */
  revokeExportToken: (id: string, options?: CallOptions) => Promise<void>;

  /** All monitors, for a metrics scraper. The metric names of blackbox_exporter, one series for each monitor and vantage. OpenMetrics 1.0 where the scraper accepts it. */
  scrapeUptimeMetrics: (options?: CallOptions) => Promise<Response>;

  /** List maintenance windows. Under way, ahead, and over for less than 400 days; the one made last comes first. */
  listMaintenance: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    maintenance: UptimeMaintenance[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Plan maintenance of a service. Meanwhile its monitors go on checking, but no one is paged and nothing counts in an uptime figure. What is still down when it ends fires its alert then. */
  createMaintenance: (input: {
    /** The service that is worked on */
    serviceId: string;
    /** Trimmed; 1 to 100 characters */
    title: string;
    /** ISO 8601 with an offset or Z; now by default */
    startsAt?: string;
    /** ISO 8601 with an offset or Z; at most 31 days after the start */
    endsAt: string;
  }, options?: CallOptions) => Promise<UptimeMaintenance>;

  /** Call off maintenance. As if it had never been planned: when it is under way and a monitor is down, its alert fires now. */
  deleteMaintenance: (id: string, options?: CallOptions) => Promise<void>;

  /** List monitors. Newest first, with their live state. What is sent with a check (header and query values, bodies) is sealed and never shown again; see `http` and `tcp`. */
  listMonitors: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    monitors: UptimeMonitor[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Create a monitor. Exactly the object named by `kind` comes with it. The organization’s monitor quota is checked before interval, vantages and target are. */
  createMonitor: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    /** The service it belongs to: when it goes down, an alert of that service fires */
    serviceId?: string;
    /** true by default */
    enabled?: boolean;
    /** One of the intervals that the catalog offers */
    intervalSeconds: number;
    /** Ids from the catalog, each once; unavailable ones are refused */
    vantages: string[];
    /** Bounds the whole check, name lookup and body included; 10,000 by default; below the interval */
    timeoutMs?: number;
    downCondition?: UptimeDownConditionInput;
    http?: UptimeHttpInput;
    tcp?: UptimeTcpInput;
    /** Immutable */
    kind: 'tcp' | 'http';
  }, options?: CallOptions) => Promise<UptimeMonitor>;

  /** Try a check once. Makes the check of a monitor that is not saved, once, from vantage `local`, and answers with what it saw. It goes through the same guard and is judged as the checks of a monitor are; nothing is stored. The process that answers makes it. With `monitorId` a `***` stands for the value that this monitor stores, and no words of the answer are shown. An organization has at most 3 under way. */
  tryMonitor: (input: {
    kind: 'tcp' | 'http';
    http?: UptimeHttpInput;
    tcp?: UptimeTcpInput;
    /** Bounds the whole check; 10,000 by default */
    timeoutMs?: number;
    /** The monitor whose stored values `***` stands for */
    monitorId?: string;
  }, options?: CallOptions) => Promise<UptimeTrial>;

  /** One monitor */
  getMonitor: (id: string, options?: CallOptions) => Promise<UptimeMonitor>;

  /** Change a monitor. `http` and `tcp` are replaced whole; a value that is sent as it is shown, `***`, stays as it is stored, unless the monitor is pointed at another server: then it must be sent again. Another target or other vantages start over at `pending`. The kind is immutable: recreate the monitor to switch. */
  updateMonitor: (id: string, input?: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
    /** null detaches it from its service */
    serviceId?: string | null;
    enabled?: boolean;
    /** One of the intervals that the catalog offers */
    intervalSeconds?: number;
    /** Ids from the catalog, each once; unavailable ones are refused */
    vantages?: string[];
    /** Bounds the whole check, name lookup and body included; 10,000 by default; below the interval */
    timeoutMs?: number;
    downCondition?: UptimeDownConditionInput;
    http?: UptimeHttpInput;
    tcp?: UptimeTcpInput;
  }, options?: CallOptions) => Promise<UptimeMonitor>;

  /** Delete a monitor. Checks stop at once and it is 404 everywhere from then on; its history is kept. */
  deleteMonitor: (id: string, options?: CallOptions) => Promise<void>;

  /** Recent failures. The newest 100, newest first. */
  listMonitorFailures: (id: string, options?: CallOptions) => Promise<{
    failures: UptimeFailure[];
  }>;

  /** Latency and uptime over a window */
  getMonitorMetrics: (id: string, input?: {
    /** 24h by default */
    window?: '1h' | '24h' | '7d';
  }, options?: CallOptions) => Promise<UptimeMetrics>;

  /** Latency and uptime of the last 30 days */
  getMonitorMonth: (id: string, options?: CallOptions) => Promise<UptimeMonth>;

  /** State changes. Most recent first, at most 50. */
  listMonitorTransitions: (id: string, options?: CallOptions) => Promise<{
    transitions: UptimeTransition[];
  }>;

  /** Round trip to the uptime backend */
  pingUptime: (options?: CallOptions) => Promise<{
    service: string;
    org: string;
    /** The newest migration of the uptime schema */
    schemaEpoch: string;
    /** ISO 8601, UTC, with milliseconds */
    time: string;
  }>;

  /** List services. With live monitor counts. The catalog is shared with on-call: both areas show the same services. */
  listUptimeServices: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    services: UptimeService[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Create a service */
  createUptimeService: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
  }, options?: CallOptions) => Promise<UptimeService>;

  /** Rename a service */
  renameUptimeService: (id: string, input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
  }, options?: CallOptions) => Promise<UptimeService>;

  /** Delete a service. Deletes nothing else with it: detach or delete its monitors and alert sources and resolve its incidents first. */
  deleteUptimeService: (id: string, options?: CallOptions) => Promise<void>;

  /** How a service fared, by day and by month */
  getServiceAvailability: (id: string, options?: CallOptions) => Promise<UptimeAvailability>;

  /** All monitors at a glance. State, newest latency, and the last 24 hours of each monitor as a bar and a line, newest monitor first: one answer for a screen of 1,000 monitors. Sent with gzip to clients that accept it. Checks in maintenance windows do not count. */
  getUptimeSummary: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<UptimeSummary>>;
}

/** Public pages that show services and the updates published about their incidents */
export interface StatusApi {
  /** List status pages */
  listStatusPages: (options?: CallOptions) => Promise<{
    pages: StatusPage[];
  }>;

  /** Create a status page. Public at once, at /status/{slug}. It shows only incidents with a published update, and of those only title, service, times, state and updates. */
  createStatusPage: (input: {
    /** 3 to 40 lower-case letters, digits and hyphens, no hyphen at the ends; globally unique and immutable */
    slug: string;
    /** Trimmed; 1 to 200 characters */
    title: string;
    /** Plain text under the title, at most 500 characters */
    description?: string;
    /** The services it shows, in this order */
    serviceIds: string[];
    /** Headings over services of serviceIds, each service in one group at most; empty: none */
    groups?: StatusPageGroupInput[];
    /** `#rrggbb` in hex digits, such as #0a6cff; used as it is where no text depends on it, and made darker or lighter where it carries text */
    accentColour?: string;
    /** A data: URL of a PNG, JPEG, WebP or GIF image, at most 64 KiB of base64 */
    logo?: string;
    /** An IANA name, such as Europe/Paris; times are shown in it */
    timezone?: string;
    /** A domain of yours, such as status.example.com, in its ASCII form; readers find the page at its root once the DNS leads it here */
    customDomain?: string;
  }, options?: CallOptions) => Promise<StatusPage>;

  /** One status page */
  getStatusPage: (slug: string, options?: CallOptions) => Promise<StatusPage>;

  /** Change a status page. Lists are replaced whole. null takes the description, the accent colour, the logo or the domain away. */
  updateStatusPage: (slug: string, input?: {
    /** Trimmed; 1 to 200 characters */
    title?: string;
    /** Plain text under the title, at most 500 characters; null takes it away */
    description?: string | null;
    /** The services it shows, in this order */
    serviceIds?: string[];
    /** Headings over services of serviceIds, each service in one group at most; empty: none */
    groups?: StatusPageGroupInput[];
    /** `#rrggbb` in hex digits, such as #0a6cff; null takes it away */
    accentColour?: string | null;
    /** A data: URL of a PNG, JPEG, WebP or GIF image, at most 64 KiB of base64; null takes it away */
    logo?: string | null;
    /** An IANA name, such as Europe/Paris; times are shown in it */
    timezone?: string;
    /** A domain of yours, such as status.example.com; null takes it and its certificate away */
    customDomain?: string | null;
  }, options?: CallOptions) => Promise<StatusPage>;

  /** Delete a status page. With its subscribers. The address answers 404 from then on. */
  deleteStatusPage: (slug: string, options?: CallOptions) => Promise<void>;

  /** Look up a page’s domain soon. At most once in ten seconds. A failed domain has three days again. */
  checkStatusPageDomain: (slug: string, options?: CallOptions) => Promise<{
    /** `scheduled` */
    status: string;
  }>;

  /** Who gets a page’s updates by mail. Newest first, those who have not confirmed yet included. */
  listStatusPageSubscribers: Paged<(slug: string, input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    subscribers: StatusPageSubscriber[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Take a subscriber off the list. No further mail goes to the address. Its owner may subscribe again. */
  removeStatusPageSubscriber: (slug: string, id: string, options?: CallOptions) => Promise<void>;
}

/** Kubernetes control planes: create, upgrade, resize; nodes and how they join; client configuration */
export interface ClustersApi {
  /** The version catalog. Newest first. */
  listClusterVersions: (options?: CallOptions) => Promise<{
    versions: ClusterVersion[];
  }>;

  /** List clusters. Live, by name. Clusters of a shard that does not answer are shown as degraded. */
  listClusters: (options?: CallOptions) => Promise<{
    clusters: Cluster[];
  }>;

  /** Create a cluster. Accepted for provisioning: watch `phase` until it is ready. By default the newest supported version, 1 replica, no mesh, a shared datastore, no managed load balancers. */
  createCluster: (input: {
    /** Lower-case letters, digits and hyphens, beginning with a letter and not ending in a hyphen; unique in the organization */
    name: string;
    tier: 'small' | 'medium' | 'large';
    /** From the version catalog */
    orchestratorVersion?: string;
    /** Redundancy of the control plane; a single one restarts briefly during any roll */
    replicas?: number;
    mesh?: boolean;
    datastore?: ClusterDatastoreCreate;
    managedLoadBalancers?: ClusterLoadBalancers;
  }, options?: CallOptions) => Promise<Cluster>;

  /** One cluster */
  getCluster: (name: string, options?: CallOptions) => Promise<Cluster>;

  /** Upgrade or resize a cluster. All fields are checked before any is applied; then the control plane rolls while you go on. Versions go up, one minor at a time. A smaller tier must have room for what runs now. A failed cluster is tried again. */
  updateCluster: (name: string, input?: {
    /** From the version catalog */
    orchestratorVersion?: string;
    /** small, medium or large */
    tier?: string;
    /** Redundancy of the control plane; a single one restarts briefly during any roll */
    replicas?: number;
    managedLoadBalancers?: ClusterLoadBalancers;
    datastore?: ClusterDatastorePatch;
  }, options?: CallOptions) => Promise<Cluster>;

  /** Tear a cluster down. Goes on by itself; the cluster is listed as deleting until it is gone. Asking again meanwhile changes nothing. */
  deleteCluster: (name: string, options?: CallOptions) => Promise<void>;

  /** The phases of a cluster, and its use by month and minute. What it went through and used so far; answered also while no shard serves it. */
  getClusterHistory: (name: string, options?: CallOptions) => Promise<{
    /** Oldest first; the newest 200 */
    phases: ClusterPhase[];
    /** The newest first, as far as it is counted; at most 36 */
    months: ClusterMonth[];
    /** Oldest first; the last 15 minutes */
    minutes: ClusterMinute[];
  }>;

  /** Mint a join token for one node. Works once, for 15 minutes. Run the command on the node. */
  createJoinToken: (name: string, options?: CallOptions) => Promise<{
    joinToken: string;
    cluster: string;
    joinCommand: string;
    /** Lifetime in seconds */
    expiresIn: number;
  }>;

  /** Client configuration for administrators. The token inside expires after an hour: fetch it again then. */
  getClusterKubeconfig: (name: string, options?: CallOptions) => Promise<{
    kubeconfig: string;
    /** Lifetime in seconds */
    expiresIn: number;
  }>;

  /** List worker nodes. Live, by name. */
  listClusterNodes: (name: string, options?: CallOptions) => Promise<{
    nodes: ClusterNode[];
  }>;

  /** Deregister a node. Across all planes: its credentials are refused from then on, and it comes back only by joining anew. */
  deregisterClusterNode: (name: string, node: string, options?: CallOptions) => Promise<void>;

  /** List registration tokens. Secrets are never shown again. */
  listRegistrationTokens: (name: string, options?: CallOptions) => Promise<{
    tokens: ClusterRegistrationToken[];
  }>;

  /** Mint a registration token for many nodes. Every node that starts with the cloud config joins by itself. The token is returned only here. */
  createRegistrationToken: (name: string, input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    /** Lifetime in seconds, 60 to 31,536,000 (a year); absent: until revoked */
    expiresIn?: number;
  }, options?: CallOptions) => Promise<{
    id: string;
    name: string;
    token: string;
    cloudConfig: string;
    joinCommand: string;
  }>;

  /** Disable or enable a registration token. While disabled no node joins with it; nodes that did are unaffected. */
  updateRegistrationToken: (name: string, id: string, input: {
    disabled: boolean;
  }, options?: CallOptions) => Promise<void>;

  /** Revoke a registration token for good */
  revokeRegistrationToken: (name: string, id: string, options?: CallOptions) => Promise<void>;

  /** Where a cluster can go, and what is in the way */
  listClusterUpgrades: (name: string, options?: CallOptions) => Promise<{
    current: string;
    upgrades: ClusterUpgrade[];
  }>;

  /** What a cluster uses. A metering snapshot, and what the cluster’s driver cannot give. */
  getClusterUsage: (name: string, options?: CallOptions) => Promise<ClusterUsage>;
}

/** Personal API tokens, bound to the acting organization and optionally narrowed by role and resource */
export interface TokensApi {
  /** List your tokens. The caller’s own tokens of the acting organization, newest first. A narrowed token sees itself and what it minted. Keys are never shown again. */
  listTokens: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    tokens: PersonalToken[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Mint a token. Its rights are, at every use, what its owner may do then, narrowed by its scope. A token minted by a token never exceeds the minting one: a missing scope becomes the minter’s, it ends no later than the minter (90 days, or as long as the minter has left, unless `expiresIn` says less), and it is switched off and revoked with it. The key is returned only here. */
  createToken: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    /** Lifetime in seconds, 60 to 31,622,400 (366 days) */
    expiresIn?: number;
    /** All entries together name at most 1,000 resources */
    scope?: TokenScope[];
  }, options?: CallOptions) => Promise<{
    id: string;
    key: string;
    orgSlug: string;
  }>;

  /** What a token’s scope can name. Built-in and custom roles that the caller may put into a scope, and the resources the caller can read. */
  listScopeOptions: (options?: CallOptions) => Promise<{
    roles: TokenScopeRole[];
    resources: TokenScopeResource[];
  }>;

  /** Rename, switch off or on, or re-scope a token. What it minted is switched off and narrowed with it. A narrowed token changes itself and what it minted, no other. */
  updateToken: (id: string, input?: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
    enabled?: boolean;
    /** All entries together name at most 1,000 resources */
    scope?: TokenScope[];
  }, options?: CallOptions) => Promise<PersonalToken>;

  /** Revoke a token for good. With it all that it minted, registry logins included. Effective in every process at once; requests under way with it are cut off. A narrowed token revokes itself and what it minted, no other. */
  deleteToken: (id: string, options?: CallOptions) => Promise<void>;
}

/** Roles, grants, and the catalogs behind them */
export interface IamApi {
  /** Grantable roles and scopable resources */
  getIamCatalog: (options?: CallOptions) => Promise<{
    roles: IamRole[];
    resources: IamResource[];
  }>;

  /** What may this person do?. Everything that a member holds, by their role in the organization and by grants, as the guards compute it. A token of theirs may hold less. */
  getEffectivePermissions: (input: {
    /** The id of a member */
    userId: string;
  }, options?: CallOptions) => Promise<{
    userId: string;
    email: string;
    name: string;
    /** In the organization */
    role: 'owner' | 'admin' | 'member';
    /** In the order of the catalog; what they do not hold is absent */
    permissions: {
      permission: string;
      label: string;
      /** On the whole organization */
      everywhere: boolean;
      /** How many resources it is narrowed to; 0 when everywhere */
      resources: number;
      /** The first 100 of these */
      resourceIds: string[];
      /** The roles that give it */
      roles: string[];
    }[];
  }>;

  /** Who holds which role */
  listGrants: Paged<(input?: {
    subject?: string;
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    grants: IamGrant[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Grant a role to a member */
  createGrant: (input: {
    /** The id of a member */
    subject: string;
    role: string;
    /** Only on these resources */
    resourceIds?: string[];
  }, options?: CallOptions) => Promise<IamGrant>;

  /** Take a role away */
  deleteGrant: (id: string, options?: CallOptions) => Promise<void>;

  /** Every permission, for authoring custom roles */
  listPermissions: (options?: CallOptions) => Promise<{
    services: PermissionCatalogService[];
  }>;

  /** List roles */
  listRoles: (options?: CallOptions) => Promise<{
    roles: IamRole[];
  }>;

  /** Create a custom role */
  createRole: (input: {
    /** Trimmed; 1 to 100 characters */
    name: string;
    description?: string;
    /** Permission atoms from /iam/permissions */
    permissions: string[];
  }, options?: CallOptions) => Promise<IamRole>;

  /** Change a custom role. Takes effect at once for everybody who holds it, and for every token narrowed to it. */
  updateRole: (id: string, input?: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
    description?: string;
    /** Permission atoms from /iam/permissions */
    permissions?: string[];
  }, options?: CallOptions) => Promise<IamRole>;

  /** Delete a custom role. Refused while somebody is granted it. Tokens narrowed to it keep the dead id, which matches nothing. */
  deleteRole: (id: string, options?: CallOptions) => Promise<void>;
}

/** The organization itself: contacts, members, invitations, audit log */
export interface OrganizationApi {
  /** The running servers, their releases and roles, and the database. Names no host, address or path: the operator’s `admin doctor` does. */
  getInstallation: (options?: CallOptions) => Promise<Installation>;

  /** Who you are */
  getMe: (options?: CallOptions) => Promise<{
    id: string;
    email: string;
    name: string;
    /** All that you belong to, the acting one first; with a token that is narrowed to roles, the acting one alone */
    organizations: {
      slug: string;
      name: string;
      role: 'owner' | 'admin' | 'member';
    }[];
    session?: SessionProof;
  }>;

  /** What you may do. In the acting organization, from what every request is judged by. It decides nothing: rights may change at any moment. */
  getMyRights: (options?: CallOptions) => Promise<Rights>;

  /** The acting organization */
  getOrganization: (options?: CallOptions) => Promise<Organization>;

  /** Rename the organization */
  updateOrganization: (input?: {
    /** Trimmed; 1 to 100 characters */
    name?: string;
  }, options?: CallOptions) => Promise<Organization>;

  /** Who did what, newest first. Filters narrow each other. Pass the cursor back with the same filters. */
  listAudit: Paged<(input?: {
    /** ISO 8601 with an offset or Z */
    from?: string;
    /** ISO 8601 with an offset or Z */
    to?: string;
    /** A user’s id or address, or another actor as the log has it: `operator` */
    actor?: string;
    /** The id of what was acted on */
    target?: string;
    /** The beginning of an action in lower-case letters, digits, dots and hyphens, such as `uptime.monitor` */
    action?: string;
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    entries: AuditEntry[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Contact addresses */
  getContacts: (options?: CallOptions) => Promise<Contacts>;

  /** Change contact addresses */
  updateContacts: (input?: {
    billingEmail?: string;
    technicalEmail?: string;
    securityEmail?: string;
  }, options?: CallOptions) => Promise<Contacts>;

  /** Open invitations */
  listInvitations: (options?: CallOptions) => Promise<{
    invitations: Invitation[];
  }>;

  /** Invite somebody by a link. The link is shown only here and works once, for 7 days. It is also mailed to the address, where mail leaves the server; else send it to the person yourself. */
  createInvitation: (input: {
    email: string;
    role?: 'owner' | 'admin' | 'member';
  }, options?: CallOptions) => Promise<{
    invitation: Invitation;
    link: string;
    /** Whether the link is on its way to the address by mail; if not, send it yourself; always present */
    mailed?: boolean;
  }>;

  /** Join by an invitation link. Needs no token, except of somebody whose account the operator made. With a token of the invited address, that account joins; without one the link makes an account, or takes up that of a former member of the organization. Answers with a token for the new organization. */
  acceptInvitation: (input: {
    /** The last part of the link */
    secret: string;
    /** Trimmed; 1 to 100 characters */
    name?: string;
  }, options?: CallOptions) => Promise<{
    userId: string;
    orgSlug: string;
    key: string;
  }>;

  /** Withdraw an invitation */
  deleteInvitation: (id: string, options?: CallOptions) => Promise<void>;

  /** List members */
  listMembers: Paged<(input?: {
    /** At most this many; 1,000 by default */
    limit?: number;
    /** From the previous answer; opaque */
    cursor?: string;
  }, options?: CallOptions) => Promise<{
    members: Member[];
    /** Present when more follow: pass it back as the query parameter */
    cursor?: string;
  }>>;

  /** Change a member’s organization role */
  updateMember: (userId: string, input?: {
    role?: 'owner' | 'admin' | 'member';
  }, options?: CallOptions) => Promise<Member>;

  /** Remove a member, or leave. Their grants and tokens of this organization end at once. Any member may remove themselves. They are taken off call: rotations go on with the next in line, and the audit log says what that changed. */
  removeMember: (userId: string, options?: CallOptions) => Promise<void>;
}

/** How a person signs in, and where they are signed in */
export interface AccountApi {
  /** Ask a person to let a program act for them. Needs no token. Show the person `verificationUrl` and `userCode`; they open the one and type the other. Meanwhile claim the token every `intervalSeconds`. `quarterdeck login` does all this. */
  createDeviceCode: (input?: {
    /** What asks, and where it runs: shown to the person. Trimmed */
    program?: string;
  }, options?: CallOptions) => Promise<{
    /** For the program alone: it claims the token with it */
    deviceCode: string;
    /** For the person to type: XXXX-XXXX */
    userCode: string;
    /** The page on which the person types it */
    verificationUrl: string;
    /** When both codes end; 10 minutes after they were made */
    expiresAt: string;
    /** How long to wait between two claims */
    intervalSeconds: number;
  }>;

  /** Fetch the token that a person approved. Answers once; the device code is spent. The token belongs to the person who approved and is narrowed as they chose. The approval falls if they signed out or left the organization before. */
  claimDeviceToken: (input: {
    /** From createDeviceCode */
    deviceCode: string;
  }, options?: CallOptions) => Promise<{
    tokenId: string;
    /** Shown only here */
    key: string;
    /** The organization that it acts in */
    orgSlug: string;
    /** The person who approved */
    userId: string;
    /** ISO 8601, UTC, with milliseconds */
    expiresAt: string;
  }>;

  /** Where you are signed in */
  listSessions: (options?: CallOptions) => Promise<{
    sessions: Session[];
  }>;

  /** Sign out there. Effective in every process at once; requests under way with it are refused. Registry logins and kubeconfigs that it made end with it. */
  endSession: (id: string, options?: CallOptions) => Promise<void>;

  /** Whether a second factor is required, and who has none */
  getSecurity: (options?: CallOptions) => Promise<Security>;

  /** Require a second factor. Effective at once for every session: people without a second factor are refused here until they add one on their account page. Tokens go on, and the operator’s link still signs in. */
  updateSecurity: (input?: {
    requiresSecondFactor?: boolean;
  }, options?: CallOptions) => Promise<Security>;
}

/** What needs you now, and what is where: answers that every area has a part in, each for what the caller may read. */
export interface OverviewApi {
  /** What needs you now. Each list holds what the caller may read, of services that the organization is entitled to. A list that is absent is one that the caller may read nothing of; a part that could not be had is named in `unavailable`. */
  getOverview: (options?: CallOptions) => Promise<{
    /** ISO 8601, UTC, with milliseconds */
    at: string;
    /** Schedules by which the caller is on call now. Absent: the caller may not read schedules */
    onCall?: OverviewOnCall[];
    nextShift?: OverviewShift;
    /** Open and acknowledged incidents, those that paged the caller first, then the newest; at most 20, `totals` counts all. Absent: the caller may read nothing of the kind */
    incidents?: OverviewIncident[];
    /** Monitors that are down, and clusters that are degraded or failed; at most 20, `totals` counts all. Absent: the caller may read nothing of the kind */
    down?: OverviewDown[];
    /** What does not do its work: it delivers, sends or reports nothing; at most 20, `totals` counts all. Absent: the caller may read nothing of the kind */
    failing?: OverviewFailing[];
    /** What ends within 14 days and was made to last a day or more, the soonest first; at most 20, `totals` counts all. Absent: the caller may read nothing of the kind */
    ends?: OverviewEnding[];
    /** Limits of which 80 % or more are used, the fullest first; at most 20, `totals` counts all. Absent: the caller may read nothing of the kind */
    full?: OverviewFull[];
    /** The last 10 entries of the audit log. Absent: the caller may not read it */
    changes?: OverviewChange[];
    /** What a new organization does first, of what the caller may do; empty once all of it is done */
    firstSteps: OverviewStep[];
    totals: OverviewTotals;
    /** Areas whose part is missing, though the caller may read it; empty when the answer is whole */
    unavailable: Unavailable[];
  }>;

  /** Find things by name or id. Looks for the text in names, slugs, addresses and subjects of what the caller may read, whatever its case, and at the beginning of ids. What is named so comes first, then names that begin with it, then ids, then names that hold it. `%`, `_` and `*` mean themselves. */
  searchThings: (input: {
    /** Part of a name, or the beginning of an id; trimmed */
    q: string;
    /** At most this many; 20 by default */
    limit?: number;
  }, options?: CallOptions) => Promise<{
    items: SearchItem[];
    /** There may be more: not everything was looked at (`partialOf`), or there were more matches than `limit` */
    partial: boolean;
    /** Kinds of which only the newest were looked at: 10,000 of each, and 1,000 messages */
    partialOf: ('service' | 'monitor' | 'incident' | 'schedule' | 'policy' | 'alertSource' | 'statusPage' | 'registry' | 'repository' | 'domain' | 'webhook' | 'route' | 'message' | 'cluster' | 'member' | 'role' | 'token')[];
    /** Areas whose part is missing, though the caller may read it; empty when the answer is whole */
    unavailable: Unavailable[];
  }>;
}

/** Hints about what changes, as it changes */
export interface LiveApi {
  /** Hear what changes, as it changes. An endless stream of server-sent events: hints, never data. `hello` is first, with the server’s `version` and the `kinds` that this caller may read. `changed` names `kinds` that may have changed: ask again, by the operations whose `x-kinds` name one. `rights`: what the caller may do has changed, and the kinds with it. `deaf`: hints may be missing, so ask now and then; a `changed` ends it. `refused` ends the stream for the reason that it gives. `bye` ends it with `retryAfterMs`, after which to come back. A comment comes every 15 seconds. After each connect, ask for everything once. */
  streamEvents: (options?: CallOptions) => Promise<Response>;
}

export type AlertmanagerWebhook = {
  version?: string;
  groupKey?: string;
  truncatedAlerts?: number;
  status?: string;
  receiver?: string;
  groupLabels?: Record<string, string>;
  commonLabels?: Record<string, string>;
  commonAnnotations?: Record<string, string>;
  externalURL?: string;
  alerts: {
    labels: Record<string, string>;
    annotations?: Record<string, string>;
    startsAt?: string;
    /** `0001-01-01T00:00:00Z` while it fires; from Prometheus: when to think it stale */
    endsAt?: string;
    generatorURL?: string;
    status?: string;
    fingerprint?: string;
  }[];
};

export type AuditEntry = {
  id: string;
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** Who acted: a user, or `operator` for the command line on the server */
  actor: string;
  actorLabel: string;
  /** The token or session used, if any */
  tokenId?: string;
  action: string;
  target: string;
  requestId?: string;
  /** What changed; never a secret */
  detail: Record<string, unknown>;
};

export type Cluster = {
  name: string;
  tier: string;
  orchestratorVersion: string;
  replicas: number;
  mesh: boolean;
  datastore: {
    /** shared or dedicated */
    mode: string;
    size?: string;
    storageGiB?: number;
    replicas?: number;
    backups?: boolean;
  };
  /** pending, provisioning, ready, updating, degraded, failed or deleting */
  phase: string;
  /** Absent until there is one */
  endpoint?: string;
  managedLoadBalancers: {
    enabled: boolean;
    /** How many services of type LoadBalancer get an address */
    maxServices: number;
    loadBalancers: {
      service: string;
      ip: string;
    }[];
  };
};

/** A dedicated one: db-small, 10 GiB, 1 replica and backups by default */
export type ClusterDatastoreCreate = {
  /** Immutable */
  mode: 'shared' | 'dedicated';
  size?: 'db-small' | 'db-medium' | 'db-large';
  /** May grow, never shrink */
  storageGiB?: number;
  replicas?: number;
  backups?: boolean;
};

/** Merged: absent fields stay as they are */
export type ClusterDatastorePatch = {
  size?: 'db-small' | 'db-medium' | 'db-large';
  /** May grow, never shrink */
  storageGiB?: number;
  replicas?: number;
  backups?: boolean;
};

export type ClusterLoadBalancers = {
  enabled: boolean;
};

export type ClusterMinute = {
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  nodes: number;
  /** Requests under way */
  inflight: number;
  storedBytes: number;
  /** Thousandths of a core, of all programs of the control plane; 0 for an embedded one */
  cpuMilli: number;
  /** Of all programs of the control plane; 0 for an embedded one */
  memoryBytes: number;
};

export type ClusterMonth = {
  /** Such as 2026-11, in UTC */
  month: string;
  /** Of the control plane */
  hours: number;
  nodeHours: number;
  requests: number;
  errors5xx: number;
  inflightPeak: number;
};

export type ClusterNode = {
  name: string;
  ready: boolean;
  agentVersion: string;
};

export type ClusterPhase = {
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** As in the cluster */
  phase: string;
  /** The change that was under way */
  what?: string;
  /** Why it was degraded or failed */
  reason?: string;
};

export type ClusterRegistrationToken = {
  id: string;
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  lastUsed?: string;
  disabled: boolean;
};

export type ClusterUpgrade = {
  version: string;
  /** preview, supported, deprecated or expired */
  state: string;
  /** Nodes whose agents would be left too far behind: upgrade them first; empty: free to go */
  blockedBy: {
    node: string;
    agentVersion: string;
  }[];
};

export type ClusterUsage = {
  cluster: string;
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** What hours and counts are summed over: the calendar month so far */
  window: {
    /** ISO 8601, UTC, with milliseconds */
    from: string;
    /** ISO 8601, UTC, with milliseconds */
    to: string;
  };
  controlPlane: {
    hours: number;
    tier: string;
    replicas: number;
    version: string;
    components: {
      name: string;
      /** Thousandths of a core, over the last 15 minutes */
      cpuMilliP95: number;
      /** Over the last 15 minutes */
      memoryBytesP95: number;
      /** What the tier allows */
      limitMemoryBytes?: number;
      restarts: number;
    }[];
  };
  nodes: {
    count: number;
    ready: number;
    nodeHours: number;
    /** Capacity of all nodes */
    cpuMilli: number;
    /** Capacity of all nodes */
    memoryBytes: number;
    /** How many nodes run which agent version */
    byVersion: Record<string, number>;
  };
  datastore: {
    mode: string;
    usedBytes: number;
    quotaBytes?: number;
    /** Of a dedicated datastore */
    members?: number;
    keys: number;
    /** ISO 8601, UTC, with milliseconds */
    lastBackupAt?: string;
  };
  loadBalancers: {
    count: number;
    hours: number;
    bytesIn: number;
    bytesOut: number;
  };
  api: {
    requests: number;
    errors5xx: number;
    inflightPeak: number;
  };
  /** What was asked for and the driver behind this cluster cannot give, one sentence each */
  limitations: string[];
};

export type ClusterVersion = {
  version: string;
  /** Such as 1.35 */
  minor: string;
  /** preview, supported, deprecated or expired */
  state: string;
  /** Whether new clusters get it when they ask for none */
  default: boolean;
  /** ISO 8601, UTC, with milliseconds */
  releasedAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  deprecatedAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  endOfLifeAt?: string;
  /** Versions one step away */
  upgradesTo: string[];
};

export type Contacts = {
  billingEmail: string;
  technicalEmail: string;
  securityEmail: string;
};

export type EmailAccepted = {
  /** For the message log and in webhooks */
  id: string;
  /** Its Message-ID header */
  messageId: string;
};

export type EmailDeferral = {
  recipient?: string;
  /** What the other server said, by which host, over which connection */
  detail?: Record<string, unknown>;
  /** ISO 8601, UTC, with milliseconds */
  occurredAt: string;
};

export type EmailDelivery = {
  id: number;
  endpointId: string;
  eventType: string;
  messageId?: string;
  state: 'pending' | 'delivering' | 'delivered' | 'failed';
  /** Of at most 10, over about three days */
  attempts: number;
  /** The HTTP status of the last attempt that got one */
  lastStatus?: number;
  lastError?: string;
  /** ISO 8601, UTC, with milliseconds */
  deliveredAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type EmailDnsObservation = {
  capability: 'send' | 'receive';
  type: string;
  name: string;
  expected: string;
  priority?: number;
  /** Whether verification waits for it; DMARC is only advised */
  required: boolean;
  outcome: 'found' | 'missing' | 'mismatch' | 'error' | (string & {});
  /** What stands there instead, at a mismatch */
  observed?: string;
  /** Every record of that name and type */
  observedAll?: string[];
  /** nxdomain, nodata, wrong_value, multiple_records, extra_mx, cname_conflict, servfail or timeout */
  reason?: string;
  /** Seconds for which others may still see this answer */
  ttl?: number;
  /** Which server answered */
  resolver: string;
  /** ISO 8601, UTC, with milliseconds */
  checkedAt: string;
};

export type EmailDnsRecord = {
  capability: 'send' | 'receive';
  /** TXT, MX or CNAME */
  type: string;
  name: string;
  value: string;
  /** Of an MX record */
  priority?: number;
};

export type EmailDomain = {
  id: string;
  name: string;
  sendState: 'pending' | 'verified' | 'failed';
  receiveState: 'none' | 'pending' | 'verified' | 'failed';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** What to publish in the domain’s DNS */
  dnsRecords: EmailDnsRecord[];
};

export type EmailMessage = {
  id: string;
  direction: 'send' | 'receive';
  /** Sent ones: queued, sending, deferred, sent, delivered, bounced, complained, suppressed, failed. Received ones: received, delivered, failed */
  state: string;
  from: string;
  to: string[];
  cc?: string[];
  subject?: string;
  sizeBytes: number;
  /** How it came in: http, smtp, mx, or relay for the platform’s own mail */
  door?: string;
  domainId: string;
  lastError?: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  sentAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  stateAt: string;
};

export type EmailMessageEvent = {
  kind: 'sent' | 'delivered' | 'bounced' | 'complained' | (string & {});
  /** hard, soft, block or undetermined */
  bounceType?: string;
  recipient?: string;
  /** What the other server said, by which host, over which connection */
  detail?: Record<string, unknown>;
  /** ISO 8601, UTC, with milliseconds */
  occurredAt: string;
};

export type EmailRecipient = {
  address: string;
  /** queued, sending, deferred; in the end sent, delivered, bounced, complained, suppressed or failed */
  state: string;
  /** ISO 8601, UTC, with milliseconds */
  stateAt: string;
  /** How often another server has put it off */
  deferrals: number;
  /** The other server and its words */
  lastError?: string;
  /** ISO 8601, UTC, with milliseconds */
  nextAttemptAt?: string;
};

export type EmailRoute = {
  id: string;
  domainId: string;
  /** The local part: exact text, a prefix ending in a star, or a lone star */
  pattern: string;
  /** The webhook endpoint that receives what matches */
  endpointId: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type EmailSend = {
  /** An address, or a name and an address: `Ada <ada@example.com>` */
  from: string;
  to: string[];
  cc?: string[];
  bcc?: string[];
  replyTo?: string[];
  subject: string;
  html?: string;
  /** html, text or both */
  text?: string;
  /** Further headers; those that the platform sets itself are refused */
  headers?: Record<string, string>;
  attachments?: {
    filename: string;
    /** Base64 */
    content: string;
    contentType?: string;
    /** For images that the html refers to as cid: */
    contentId?: string;
  }[];
  /** ISO 8601 with an offset or Z */
  scheduledAt?: string;
  /** Come back in the webhooks about the message */
  tags?: Record<string, string>;
};

export type EmailSendKey = {
  id: string;
  name: string;
  /** The user name for SMTP submission */
  keyId: string;
  /** Empty: not narrowed, every domain of the organization */
  domainIds: string[];
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  lastUsedAt?: string;
};

export type EmailSettings = {
  /** Recipients a day, counted from midnight UTC */
  dailyQuota: number;
  /** While paused nothing new is accepted; what is queued waits */
  paused: boolean;
  /** ISO 8601, UTC, with milliseconds */
  pausedAt?: string;
  pauseReason?: string;
  /** Share of hard bounces, in percent over 7 days, that pauses sending */
  bouncePausePct?: number;
  /** Share of complaints, in percent over 7 days, that pauses sending */
  complaintPausePct?: number;
  /** Recipients accepted since midnight UTC */
  acceptedToday?: number;
  /** Why sending comes near to being paused; absent while it does not */
  warning?: string;
  /** Where programs hand in mail by SMTP; always present */
  submission?: {
    /** The name in the certificate, or a loopback address where the server listens on nothing else */
    host: string;
    /** With STARTTLS */
    port: number;
    /** With TLS from the first byte */
    tlsPort: number;
  };
};

export type EmailStats = {
  /** The first day, YYYY-MM-DD */
  from: string;
  /** The last day, YYYY-MM-DD */
  to: string;
  /** Outcomes before this time were not recorded by day */
  countedFrom: string;
  days: {
    /** A day in UTC, YYYY-MM-DD */
    date: string;
    /** For whom another server gave a final answer, delivered or bounced */
    sent: number;
    /** Accepted by the server of the recipient */
    delivered: number;
    /** Refused for good, returned by a report, or given up after three days */
    bounced: number;
    /** Of the bounced: the address does not exist */
    hardBounced: number;
    /** Who called it spam */
    complained: number;
    /** Not sent, because the address is on the suppression list */
    suppressed: number;
  }[];
  /** Of the whole organization over 7 days, or since the operator resumed sending. Absent for a caller who is narrowed to domains */
  pause?: {
    paused: boolean;
    /** Of whom it is known what became of their mail */
    recipients: number;
    /** Hard bounces among them */
    hardBounces: number;
    /** Complaints of verified reporters among them */
    complaints: number;
    /** In percent */
    bouncePct: number;
    /** Sending is paused at this share */
    bouncePausePct: number;
    /** In percent */
    complaintPct: number;
    /** Sending is paused at this share */
    complaintPausePct: number;
    /** Present when sending comes near to being paused */
    warning?: string;
  };
};

export type EmailSuppression = {
  id: string;
  address: string;
  reason: 'bounce' | 'complaint' | 'manual' | (string & {});
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type EmailWebhook = {
  id: string;
  url: string;
  eventTypes: string[];
  disabled: boolean;
  /** Why, while it is disabled: by hand, or what it answered */
  disabledReason?: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type IamGrant = {
  id: string;
  /** The id of a member */
  subject: string;
  role: string;
  roleName: string;
  /** Empty: not narrowed to resources */
  resourceIds: string[];
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type IamResource = {
  service: string;
  id: string;
  name: string;
};

export type IamRole = {
  id: string;
  name: string;
  description: string;
  kind: 'builtin' | 'custom';
  service?: string;
  scopable: boolean;
  permissions: string[];
};

export type Installation = {
  /** The release of the server that answers, and behind a plus its build */
  version: string;
  /** Every running server process; at most 100 */
  servers: {
    /** Absent for a server of a release that does not tell it */
    version?: string;
    roles: string[];
  }[];
  database: {
    kind: 'embedded' | 'external';
    /** Of PostgreSQL */
    version: string;
  };
  /** The disk of the data directory of the server that answers */
  disk: 'ok' | 'low' | 'full' | 'unknown';
  /** Whether everything that leaves waits for the operator after a restore */
  held: boolean;
};

export type Invitation = {
  id: string;
  email: string;
  role: 'owner' | 'admin' | 'member';
  /** The user who invited; null for the operator, and where an older release did not note it; always present */
  invitedBy?: string | null;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
};

export type Member = {
  userId: string;
  email: string;
  name: string;
  role: 'owner' | 'admin' | 'member';
  /** ISO 8601, UTC, with milliseconds */
  joinedAt: string;
};

export type OncallActor = {
  /** user, auto, system, source or provider */
  kind: string;
  /** The user or alert source; absent for the platform itself */
  id?: string;
  label: string;
};

export type OncallAlert = {
  id: string;
  /** What makes two deliveries the same alert */
  fingerprint: string;
  /** The alert source, or the monitor */
  sourceId: string;
  sourceName: string;
  /** firing or resolved */
  status: string;
  title: string;
  /** As delivered */
  labels: Record<string, string>;
  /** As delivered */
  annotations: Record<string, string>;
  generatorURL?: string;
  /** ISO 8601, UTC, with milliseconds */
  startsAt: string;
  /** ISO 8601, UTC, with milliseconds */
  endsAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  firstReceivedAt: string;
  /** ISO 8601, UTC, with milliseconds */
  lastReceivedAt: string;
  /** How often this occurrence arrived */
  deliveries: number;
};

export type OncallAlertSource = {
  id: string;
  name: string;
  serviceId: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** null until the first delivery */
  lastEventAt: string | null;
  /** The last delivery with alerts that could not be taken in; absent while there was none */
  lastProblem?: {
    /** ISO 8601, UTC, with milliseconds */
    at: string;
    /** What was wrong with the first of them */
    message: string;
    /** Alerts of that delivery that were not taken in */
    rejected: number;
  };
};

export type OncallCalendarLink = {
  id: string;
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type OncallDiagnosis = {
  serviceId: string;
  name: string;
  /** Whether somebody would be paged for an incident that opens now */
  paged: boolean;
  /** The first page that would arrive; absent when none would */
  by?: {
    label: string;
    channel: string;
    afterSeconds: number;
    /** Of the policy, the first is 1 */
    step: number;
    userId: string;
  };
  /** What keeps pages away now or in the next seven days; at most 20 */
  problems: OncallProblem[];
};

export type OncallEscalation = {
  /** Absent: the service had no policy when the incident opened */
  policyId?: string;
  policyName?: string;
  /** walking, acknowledged, resolved, exhausted, or none without a policy */
  state: string;
  /** From 0; `repeat` further ones follow the first */
  pass: number;
  /** The step that fired last, from 0 */
  step: number;
  /** ISO 8601, UTC, with milliseconds */
  nextAt?: string;
};

export type OncallEscalationPolicy = {
  id: string;
  name: string;
  repeat: number;
  steps: OncallEscalationStep[];
  /** Seconds after which the person who acknowledged is reminded of an unresolved incident; 0: never; always present */
  remindAfterSeconds?: number;
  /** How many services have it attached */
  services: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type OncallEscalationStep = {
  target: {
    kind: 'schedule' | 'user' | (string & {});
    id: string;
    label: string;
  };
  waitSeconds: number;
};

export type OncallEscalationStepInput = {
  target: {
    kind: 'schedule' | 'user' | (string & {});
    /** Of a schedule, or of a member */
    id: string;
    /** How the target is shown; empty: its own name */
    label: string;
  };
  /** How long to wait for an acknowledgement before going on */
  waitSeconds: number;
};

export type OncallHandoff = {
  interval: 'daily' | 'weekly';
  /** Day of the week, 0 and 7 Sunday; Monday when a weekly one has none; daily ignores it */
  dow?: number;
  /** `HH:MM` from 00:00 to 23:59; in the schedule’s time zone */
  time: string;
};

export type OncallHandoffInput = {
  interval: 'daily' | 'weekly';
  /** Day of the week, 0 and 7 Sunday; Monday when a weekly one has none; daily ignores it */
  dow?: number;
  /** `HH:MM` from 00:00 to 23:59; in the schedule’s time zone */
  time: string;
};

export type OncallIncident = {
  id: string;
  serviceId: string;
  serviceName: string;
  title: string;
  status: 'open' | 'acknowledged' | 'resolved';
  /** ISO 8601, UTC, with milliseconds */
  openedAt: string;
  /** ISO 8601, UTC, with milliseconds */
  acknowledgedAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  resolvedAt?: string;
  /** Distinct alerts that fire now */
  firingAlerts: number;
};

export type OncallIncidentDetail = {
  id: string;
  serviceId: string;
  serviceName: string;
  title: string;
  status: 'open' | 'acknowledged' | 'resolved';
  /** ISO 8601, UTC, with milliseconds */
  openedAt: string;
  /** ISO 8601, UTC, with milliseconds */
  acknowledgedAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  resolvedAt?: string;
  /** Distinct alerts that fire now */
  firingAlerts: number;
  description?: string;
  /** alert, manual or uptime */
  origin: string;
  acknowledgedBy?: OncallActor;
  resolvedBy?: OncallActor;
  alerts: OncallAlert[];
  /** Oldest first; never public */
  timeline: OncallTimelineEntry[];
  /** What was published, oldest first */
  updates: OncallUpdate[];
  escalation: OncallEscalation;
  /** Every page that was due, and how it ended */
  pages: OncallPage[];
  /** Which of alerts, timeline and pages show only their newest 1,000; always present */
  cut?: string[];
};

export type OncallIngest = {
  /** Alerts taken in, known ones included */
  accepted: number;
  firing: number;
  resolved: number;
  /** Alerts that could not be taken in; the others were */
  rejected?: number;
  /** What was wrong with the first ten of them */
  problems?: string[];
};

export type OncallNotificationRule = {
  channel: 'email' | 'sms' | 'voice' | (string & {});
  /** After the step that pages you */
  delaySeconds: number;
};

export type OncallNotificationRuleInput = {
  channel: 'email' | 'sms' | 'voice' | (string & {});
  /** After the step that pages you */
  delaySeconds: number;
};

export type OncallNow = {
  userId: string;
  label: string;
  /** ISO 8601, UTC, with milliseconds */
  until: string;
  /** Whether an override put them there */
  override: boolean;
};

export type OncallOverride = {
  id: string;
  userId: string;
  label: string;
  /** ISO 8601, UTC, with milliseconds */
  startsAt: string;
  /** ISO 8601, UTC, with milliseconds */
  endsAt: string;
};

export type OncallPage = {
  id: string;
  userId: string;
  label: string;
  /** email, sms or voice */
  channel: string;
  /** queued, sending, sent, delivered, confirmed, failed or canceled */
  state: string;
  /** ISO 8601, UTC, with milliseconds */
  dueAt: string;
  /** ISO 8601, UTC, with milliseconds */
  sentAt?: string;
  /** Why it failed, in the provider’s words where there are some */
  error?: string;
  attempts: number;
};

export type OncallPaging = {
  /** Your address here; it cannot be set */
  email: string;
  /** null while you have given none */
  phone: string | null;
  /** An email at once until you save others */
  rules: OncallNotificationRule[];
};

export type OncallPagingTest = {
  /** ISO 8601, UTC, with milliseconds */
  startedAt?: string;
  pages: {
    id: string;
    channel: 'email' | 'sms' | 'voice' | (string & {});
    /** Where it goes; absent when you have given none */
    address?: string;
    state: 'queued' | 'sending' | 'sent' | 'delivered' | 'confirmed' | 'failed' | 'canceled';
    attempts: number;
    /** Why it failed, or why it has not gone out yet */
    error?: string;
    /** What is known to keep it from arriving; only in the answer that starts a test */
    warning?: string;
    /** ISO 8601, UTC, with milliseconds */
    sentAt?: string;
    /** ISO 8601, UTC, with milliseconds */
    endedAt?: string;
  }[];
};

export type OncallParticipant = {
  userId: string;
  label: string;
};

export type OncallParticipantInput = {
  /** A member of the organization */
  userId: string;
  /** How the person is shown; empty: their name in the directory */
  label: string;
};

export type OncallPreview = {
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** Absent: no policy is attached, so no one would be paged */
  escalationPolicyId?: string;
  steps: {
    /** ISO 8601, UTC, with milliseconds */
    at: string;
    pass: number;
    step: number;
    target: {
      kind: string;
      id: string;
      label: string;
    };
    responder?: {
      userId: string;
      label: string;
    };
    pages: {
      /** ISO 8601, UTC, with milliseconds */
      at: string;
      channel: string;
      /** Why this page would fail */
      problem?: string;
    }[];
    /** Why the step would reach no one */
    problem?: string;
  }[];
};

export type OncallProblem = {
  /** What is wrong, and where */
  sentence: string;
  /** no-policy, nobody-on-call, not-a-member, no-address, no-relay, no-provider or dead-channel; others may follow */
  code: string;
};

export type OncallProvider = {
  configured: boolean;
  /** null while not configured */
  accountSid: string | null;
  /** null while not configured */
  fromNumber: string | null;
  /** null while not configured */
  updatedAt: string | null;
};

export type OncallReport = {
  /** ISO 8601, UTC, with milliseconds */
  examinedAt: string;
  services: number;
  /** Services whose alert would have paged no one */
  unpaged: number;
  /** When the owners were last written to */
  toldAt?: string;
  /** Why the owners could not be written to; absent when they were, or need not be */
  notTold?: string;
};

export type OncallSchedule = {
  id: string;
  name: string;
  timezone: string;
  participants: OncallParticipant[];
  handoff: OncallHandoff;
  onCallNow?: OncallNow;
  overrides: OncallOverride[];
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type OncallService = {
  id: string;
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Absent: detached, new incidents of the service page no one */
  escalationPolicyId?: string;
};

export type OncallShift = {
  userId: string;
  label: string;
  /** ISO 8601, UTC, with milliseconds */
  startsAt: string;
  /** ISO 8601, UTC, with milliseconds */
  endsAt: string;
  /** Present when an override put them there */
  overrideId?: string;
};

export type OncallStoryEntry = {
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** Which area tells it */
  area: string;
  /** What on-call tells has the kinds of the incident’s timeline. Beside them: probe_failed, probe_passed, monitor_down, monitor_up, monitor_pending, mails, image_pushed, changed, maintenance, cluster_provisioning, cluster_updating, cluster_ready, cluster_degraded, cluster_failed, cluster_deleting, cluster_changing (of servers of an older release) */
  kind: string;
  /** One sentence */
  title: string;
  /** More of it, at most 500 characters */
  detail?: string;
  /** The thing that it is about */
  ref?: {
    /** As in a search: monitor, repository, cluster, page; a word of the audit log for what was changed */
    kind: string;
    id: string;
    /** What its path names before it */
    parents: string[];
  };
};

export type OncallStoryWithheld = {
  area: string;
  /** What kind of entries */
  what: string;
  /** The permission that shows them */
  permission: string;
};

export type OncallTimelineEntry = {
  id: string;
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  /** opened, alert_firing, alert_resolved, alert_stale, alerts_ended, step_fired, nobody_on_call, no_policy, escalation_exhausted, page_queued, page_sent, page_delivered, page_confirmed, page_failed, page_canceled, acknowledged, resolved, update_published, update_retracted, payload_truncated, alert_rejected, page_held_back, page_delayed, walk_restarted, responder_left, acknowledger_told */
  kind: string;
  /** One sentence for people */
  message: string;
  actor?: OncallActor;
  /** The same for programs; depends on the kind */
  data?: Record<string, unknown>;
};

export type OncallUpdate = {
  id: string;
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  body: string;
  /** Who wrote it; for the team, never on status pages */
  byLabel: string;
  /** postmortem; absent for an ordinary update */
  kind?: string;
};

export type Organization = {
  id: string;
  slug: string;
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type OverviewChange = {
  /** Of the entry of the audit log */
  id: string;
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  actorLabel: string;
  action: string;
  target: string;
};

export type OverviewDown = {
  kind: 'monitor' | 'cluster' | (string & {});
  /** What the API takes to address it: the id of a monitor, the name of a cluster */
  id: string;
  name: string;
  /** down, degraded or failed */
  state: string;
  /** ISO 8601, UTC, with milliseconds */
  since?: string;
  serviceId?: string;
  /** Absent where the caller may not read the service */
  serviceName?: string;
  reason?: string;
};

export type OverviewEnding = {
  kind: 'token' | 'invitation' | 'registrationToken' | (string & {});
  id: string;
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  endsAt: string;
  /** What its path names before it: the cluster of a registration token */
  parents: string[];
};

export type OverviewFailing = {
  kind: 'webhook' | 'domain' | 'vantage' | 'sending' | 'messages' | 'alertSource' | 'provider' | 'paging' | (string & {});
  /** Of the thing; absent where the whole organization is meant */
  id?: string;
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  since?: string;
  /** A sentence */
  reason: string;
};

export type OverviewFull = {
  kind: 'registry' | 'monitors' | 'email' | 'clusters' | (string & {});
  /** The slug of a registry; absent where the whole organization is meant */
  id?: string;
  name: string;
  used: number;
  limit: number;
  /** Rounded down */
  percent: number;
  unit: 'bytes' | 'monitors' | 'recipients' | 'clusters' | (string & {});
};

export type OverviewIncident = {
  id: string;
  title: string;
  status: 'open' | 'acknowledged';
  /** Whether the caller was paged about it */
  pagesMe: boolean;
  serviceId: string;
  serviceName: string;
  /** ISO 8601, UTC, with milliseconds */
  openedAt: string;
};

export type OverviewOnCall = {
  scheduleId: string;
  scheduleName: string;
  /** When the caller’s shift ends; absent when it goes on for 28 days or more */
  until?: string;
  /** Who is on call then; absent for a gap */
  nextUserId?: string;
  nextLabel?: string;
};

/** The caller’s next shift within 28 days, of a schedule not in `onCall` */
export type OverviewShift = {
  scheduleId: string;
  scheduleName: string;
  /** ISO 8601, UTC, with milliseconds */
  startsAt: string;
  /** ISO 8601, UTC, with milliseconds */
  endsAt: string;
};

export type OverviewStep = {
  step: 'service' | 'monitor' | 'schedule' | 'policy' | 'paging' | 'image' | 'domain' | 'cluster' | (string & {});
  done: boolean;
};

/** How many there are of each list that the caller may read; counted up to 1,000 */
export type OverviewTotals = {
  incidents?: number;
  down?: number;
  failing?: number;
  ends?: number;
  full?: number;
};

export type PermissionCatalogService = {
  service: string;
  serviceLabel: string;
  resources: {
    resource: string;
    resourceLabel: string;
    tiers: PermissionCatalogTier[];
  }[];
};

export type PermissionCatalogTier = {
  permission: string;
  tier: 'read' | 'write' | 'admin';
  label: string;
};

export type PersonalToken = {
  id: string;
  name: string;
  /** The key’s prefix and its first 4 characters, to recognize it by */
  start: string;
  enabled: boolean;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
  /** null until the token is first used; brought up to date every few seconds */
  lastRequest: string | null;
  orgSlug: string;
  /** The token that minted it, and with which it ends; absent when none did */
  mintedBy?: string;
  /** Empty: not narrowed, all that its owner may do */
  scope: {
    role: string;
    roleName: string;
    /** Empty: not narrowed to resources */
    resourceIds: string[];
  }[];
};

export type PrometheusAlert = {
  labels: Record<string, string>;
  annotations?: Record<string, string>;
  startsAt?: string;
  /** `0001-01-01T00:00:00Z` while it fires; from Prometheus: when to think it stale */
  endsAt?: string;
  generatorURL?: string;
};

export type Registry = {
  slug: string;
  displayName: string;
  region: string;
  /** What the registry may hold */
  storageQuotaBytes: number;
  /** What the quota counts; always present */
  usedBytes?: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type RegistryDetail = {
  slug: string;
  region: string;
  /** What the registry may hold */
  storageQuotaBytes: number;
  /** What the quota counts: distinct bytes of layers, and what manifests weigh in each repository */
  usedBytes: number;
  repositoryCount: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  displayName?: string;
  /** Tags that can neither move nor be deleted, nor what they lead to; empty: none */
  immutableTags?: string[];
  /** Empty: everything stays. What is attached to an image (signatures, attestations, SBOMs) stays and goes with it */
  retention?: {
    /** Untagged images go so many days after they were pushed and last pulled */
    untaggedDays?: number;
    /** The first rule that fits a tag decides; a tag that none fits stays */
    rules?: {
      /** A repository’s name in lower case, where `*` stands for any run of characters: `team/*`; absent: all */
      repositories?: string;
      /** A tag, where `*` stands for any run of characters: `v1.*`; absent: all */
      tags?: string;
      /** The newest so many tags of a repository stay; signatures and whatever else is attached to an image are not counted */
      keepLast?: number;
      /** Tags pushed or pulled within so many days stay */
      keepDays?: number;
    }[];
  };
};

export type RegistryImage = {
  digest: string;
  mediaType: string;
  /** What it is, where it is no image that runs */
  artifactType?: string;
  /** Manifest, configuration and layers; of an index its distinct children */
  sizeBytes: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  pulledAt?: string;
  /** By name; the first 1,000 */
  tags: string[];
  /** The digest of the image that it is attached to */
  subject?: string;
  /** Of an index the images that it lists, the first 100; of an image itself */
  platforms: {
    /** Pull by it to get this platform alone */
    digest: string;
    /** Such as linux/arm64/v8; absent where the image does not tell */
    platform?: string;
    /** Whether the registry holds it; an index may name more than was pushed */
    isHere: boolean;
    sizeBytes?: number;
    /** In their order, the lowest first */
    layers: RegistryLayer[];
  }[];
  /** Signatures, SBOMs and whatever else refers to it, the first 100; whether they are good is for a client to verify */
  attachments: {
    digest: string;
    kind: 'signature' | 'sbom' | 'attestation' | 'other';
    /** Its type or predicate, as the client that attached it wrote it */
    type: string;
    /** The tag that attaches it, where no subject does */
    tag?: string;
    sizeBytes: number;
    /** ISO 8601, UTC, with milliseconds */
    createdAt: string;
  }[];
  /** What deleting the image would take along, and what is in the way */
  purge: {
    /** With what it lists and what is attached to it, as far as nothing else keeps that */
    manifests: number;
    /** Layers that nothing else in the repository needs */
    freedBytes: number;
    /** There is more than was counted */
    isCut: boolean;
    /** The digest of an index that lists it and has to go first */
    listedBy?: string;
    /** A tag that the rules of the registry keep */
    immutableTag?: string;
  };
};

export type RegistryKey = {
  /** The user name for docker login */
  keyId: string;
  name: string;
  mode: 'pull' | 'readwrite';
  /** Empty: not narrowed, every repository */
  repoPrefixes: string[];
  mintedVia: 'manual' | 'oidc' | (string & {});
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  lastUsedAt?: string;
  /** ISO 8601, UTC, with milliseconds */
  revokedAt?: string;
};

export type RegistryLayer = {
  digest: string;
  mediaType: string;
  sizeBytes: number;
};

export type RegistryLogin = {
  /** Also the keyId for revoking it */
  username: string;
  password: string;
  /** ISO 8601, UTC, with milliseconds */
  expiresAt: string;
  /** The host to log in to */
  registry: string;
  scope: {
    /** A slug */
    registry: string;
    mode: 'pull' | 'readwrite';
  }[];
};

export type RegistryManifest = {
  digest: string;
  mediaType: string;
  /** Manifest, configuration and layers; of an index its own bytes and its distinct children */
  sizeBytes: number;
  /** Empty: untagged */
  tags: string[];
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** Signatures attached to it (cosign, notation); whether they are good is for a client to verify */
  signatures?: number;
  /** Software bills of materials attached to it */
  sboms?: number;
};

export type RegistryOidcRule = {
  id: number;
  name: string;
  issuer: string;
  audience: string;
  subjectPattern: string;
  mode: 'pull' | 'readwrite';
  /** Empty: not narrowed, every repository */
  repoPrefixes: string[];
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type RegistryRepository = {
  name: string;
  tagCount: number;
  /** Distinct bytes in the repository */
  sizeBytes: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type RegistryTag = {
  name: string;
  digest: string;
  /** Bytes of the manifest document itself */
  manifestSize: number;
  /** With configuration and layers; of an index with its distinct children; always present */
  sizeBytes?: number;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
};

export type RegistryUpstream = {
  /** The first part of a cached image’s name: `HOST/<slug>/<host>/<path>` */
  host: string;
  endpoint: string;
};

export type RegistryUpstreamCredential = {
  upstream: string;
  username: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type RegistryUsage = {
  slug: string;
  /** Now */
  usedBytes: number;
  /** Now */
  storageQuotaBytes: number;
  /** Oldest first, today last. A day on which no server ran is absent, as are days before this was recorded */
  days: {
    /** A day in UTC, YYYY-MM-DD */
    date: string;
    /** At its end; today, now */
    usedBytes: number;
    /** What the registry might hold then */
    storageQuotaBytes: number;
    /** The share of the quota in percent, to a tenth */
    usedPct: number;
  }[];
};

export type Rights = {
  /** In the acting organization; a narrowed token may have less than it gives */
  role: 'owner' | 'admin' | 'member';
  /** What is held now, and where: `*` on everything, else on the resources of these ids. With ids, operations that are not marked `x-scoped` are refused */
  permissions: Record<string, '*' | string[]>;
  /** What the operator enabled for the organization */
  entitlements: string[];
  /** Asked with a narrowed token: operations marked `x-personal` are refused */
  narrowed: boolean;
  /** Asked by a session; operations marked `x-session` refuse tokens */
  session: boolean;
  /** Whether operations marked `x-fresh` pass now: for a session within 15 minutes of its proof, for a token always */
  fresh: boolean;
  /** Whether the organization asks sessions for a second factor; one without it gets 403 `second_factor_required` instead of this answer */
  secondFactorRequired: boolean;
};

export type SearchItem = {
  kind: 'service' | 'monitor' | 'incident' | 'schedule' | 'policy' | 'alertSource' | 'statusPage' | 'registry' | 'repository' | 'domain' | 'webhook' | 'route' | 'message' | 'cluster' | 'member' | 'role' | 'token' | (string & {});
  /** What the API takes to address it: an id, or a slug or name where the path has that */
  id: string;
  name: string;
  /** A word that tells it from others */
  detail?: string;
  /** What its path names before it: the registry of a repository */
  parents: string[];
};

export type Security = {
  /** Whether people need a second factor to act here in a browser: a passkey, or an authenticator app besides the password */
  requiresSecondFactor: boolean;
  /** Members who have no second factor */
  membersWithout: number;
  /** Those members; at most 100 */
  members: {
    userId: string;
    email: string;
    name: string;
    /** Live tokens, which go on whatever is required */
    tokens: number;
  }[];
};

export type Session = {
  id: string;
  /** The session that asks */
  isCurrent: boolean;
  /** How the person signed in */
  methods: ('link' | 'password' | 'totp' | 'recovery' | 'passkey' | 'invitation' | (string & {}))[];
  /** The address it began at */
  address: string;
  /** The browser it began in, as that names itself */
  agent: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  lastSeenAt: string;
  /** When it ends without further use */
  endsAt: string;
};

/** The session that asks; absent for a token */
export type SessionProof = {
  id: string;
  /** How you proved who you are */
  methods: ('link' | 'password' | 'totp' | 'recovery' | 'passkey' | 'invitation' | (string & {}))[];
  /** After this, operations marked `x-fresh` are refused (403 `reauthenticate`) until you prove it once more on the page /sign-in/again */
  freshUntil: string;
};

export type StatusPage = {
  slug: string;
  title: string;
  description?: string;
  /** In the order in which they are shown; deleted services stay here and are not shown */
  serviceIds: string[];
  /** Headings over some of the services; those in no group come first */
  groups: {
    name: string;
    serviceIds: string[];
  }[];
  accentColour?: string;
  /** Present when it has a logo */
  logoUrl?: string;
  timezone: string;
  /** Readers who get its updates by mail, confirmed ones only */
  subscribers: number;
  /** Always present where one status page is asked for, and nowhere else. First mails to readers that were held back, by reason; a reason goes 30 days after the last of them */
  heldBack?: StatusPageHeldBack[];
  /** Where the public reads it; its own domain once that has a certificate */
  url: string;
  /** Present when it has a domain of its own */
  customDomain?: string;
  customDomainStatus?: StatusPageDomain;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type StatusPageDomain = {
  /** pending for three days while the records are looked for; verified: the page is read there; failed: not found, or lost to another organization that proved the name */
  state: 'pending' | 'verified' | 'failed';
  /** What to publish in the domain’s DNS: an alias, and a proof if another organization has or had the name */
  records: StatusPageDomainRecord[];
  /** Ordered once the domain is verified */
  certificate: {
    /** valid also while it is renewed */
    state: 'none' | 'ordered' | 'valid' | 'failed';
    /** ISO 8601, UTC, with milliseconds */
    validUntil?: string;
    /** Why there is none, or what went wrong last and when it is tried again */
    sentence?: string;
  };
  /** ISO 8601, UTC, with milliseconds */
  checkedAt?: string;
};

export type StatusPageDomainRecord = {
  type: 'CNAME' | 'TXT';
  name: string;
  /** What to publish there */
  value: string;
  /** What the DNS said last; absent before the first look */
  outcome?: 'found' | 'missing' | 'mismatch' | 'error';
  /** What stands there instead, at a mismatch */
  observed?: string;
  /** What is wrong, and what to publish */
  sentence: string;
};

export type StatusPageGroupInput = {
  /** Trimmed; 1 to 100 characters */
  name: string;
  serviceIds: string[];
};

export type StatusPageHeldBack = {
  /** Whose limit was reached */
  reason: 'recipient' | 'client' | 'organization' | (string & {});
  /** First mails that did not leave for this reason */
  mails: number;
  /** ISO 8601, UTC, with milliseconds */
  lastAt: string;
  sentence: string;
};

export type StatusPageSubscriber = {
  id: string;
  address: string;
  /** pending until the link in the first mail was followed; then active */
  state: 'pending' | 'active';
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  confirmedAt?: string;
};

export type TokenScope = {
  /** The id of a built-in or custom role */
  role: string;
  /** Ids of the resources to which the role is narrowed; absent: all that the owner can see */
  resourceIds?: string[];
};

export type TokenScopeResource = {
  service: string;
  id: string;
  name: string;
};

export type TokenScopeRole = {
  id: string;
  name: string;
  description: string;
  /** Whether the role may be narrowed to resource ids */
  scopable: boolean;
  service?: string;
};

export type Unavailable = {
  area: string;
  /** A sentence: why its part is missing */
  reason: string;
};

export type UptimeAvailability = {
  serviceId: string;
  /** Of its monitors together: down when one is; absent when it has none */
  state?: 'pending' | 'up' | 'down';
  /** Present when its monitors changed so often that only the newest changes are counted: nothing before this is */
  countedFrom?: string;
  /** The last 90, oldest first; one in which nothing was watched is absent */
  days: {
    /** YYYY-MM-DD, in UTC */
    date: string;
    /** How long at least one monitor watched it, maintenance left out */
    watchedSeconds: number;
    /** How long of that at least one monitor was down, from its first failing check on */
    downSeconds: number;
    /** What is left, 0 to 100 */
    uptimePct: number;
  }[];
  /** As far back as 400 days, oldest first; one in which nothing was watched is absent */
  months: {
    /** YYYY-MM, in UTC */
    month: string;
    /** How long at least one monitor watched it, maintenance left out */
    watchedSeconds: number;
    /** How long of that at least one monitor was down, from its first failing check on */
    downSeconds: number;
    /** What is left, 0 to 100 */
    uptimePct: number;
  }[];
};

export type UptimeDownCondition = {
  /** How many checks in a row change one vantage’s verdict; 2 by default */
  confirmations: number;
  /** How many failing vantages mean down; the majority by default */
  quorum: number;
};

export type UptimeDownConditionInput = {
  /** How many checks in a row change one vantage’s verdict; 2 by default */
  confirmations: number;
  /** How many failing vantages mean down; the majority by default */
  quorum: number;
};

export type UptimeExportToken = {
  id: string;
  name: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** null until the token is first used */
  lastUsedAt: string | null;
};

export type UptimeFailure = {
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  vantage: string;
  /** Which failure in a row this was for the vantage, from 1 */
  attempt: number;
  /** `fail`: it answered, but not as expected; `error`: it could not be asked */
  outcome: 'fail' | 'error';
  /** For fail: status_mismatch, body_mismatch, prefix_mismatch. For error: dns_not_found, dns_failure, dns_timeout, connection_refused, connection_reset, connect_timeout, network_unreachable, tls_handshake, tls_certificate, timeout, too_many_redirects, protocol, blocked_target */
  errorKind: string;
  errorDetail: string;
  /** At most 1,024 bytes of what came back. Empty when nothing did, and always when the check sends anything hidden (a header, a query, a body, bytes to a port), which an answer may repeat */
  responseSnippet: string;
};

export type UptimeHttp = {
  /** http or https, at most 2,048 characters; addresses in private ranges are refused. Shown without its query, and to those who may change the monitor with `***` for every value of it; `***` sent for a value keeps the stored one */
  url: string;
  /** GET by default */
  method?: 'GET' | 'HEAD' | 'POST';
  /** Sent with every check; 8 KiB in all. Shown only to those who may change the monitor, with `***` for every value; `***` sent for a value keeps the stored one */
  headers?: Record<string, string>;
  /** Base64 of at most 16,384 bytes; only with POST. Shown only to those who may change the monitor, as `Kioq` (`***`), which keeps the stored one when sent */
  bodyBase64?: string;
  /** true by default: at most 5, each checked like the first address */
  followRedirects?: boolean;
  /** Each `200`, `2xx` or `200-299`; any match passes; `2xx` by default */
  expectStatus?: string[];
  /** Text that the body must hold; not with HEAD. Shown only to those who may change the monitor. Another one needs every hidden value sent again, for a check would tell whether it is part of one */
  expectBodyContains?: string;
};

export type UptimeHttpInput = {
  /** http or https, at most 2,048 characters; addresses in private ranges are refused. Shown without its query, and to those who may change the monitor with `***` for every value of it; `***` sent for a value keeps the stored one */
  url: string;
  /** GET by default */
  method?: 'GET' | 'HEAD' | 'POST';
  /** Sent with every check; 8 KiB in all. Shown only to those who may change the monitor, with `***` for every value; `***` sent for a value keeps the stored one */
  headers?: Record<string, string>;
  /** Base64 of at most 16,384 bytes; only with POST. Shown only to those who may change the monitor, as `Kioq` (`***`), which keeps the stored one when sent */
  bodyBase64?: string;
  /** true by default: at most 5, each checked like the first address */
  followRedirects?: boolean;
  /** Each `200`, `2xx` or `200-299`; any match passes; `2xx` by default */
  expectStatus?: string[];
  /** Text that the body must hold; not with HEAD. Shown only to those who may change the monitor. Another one needs every hidden value sent again, for a check would tell whether it is part of one */
  expectBodyContains?: string;
};

export type UptimeInterval = {
  seconds: number;
  label: string;
};

export type UptimeMaintenance = {
  id: string;
  serviceId: string;
  title: string;
  /** ISO 8601, UTC, with milliseconds */
  startsAt: string;
  /** ISO 8601, UTC, with milliseconds */
  endsAt: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type UptimeMetrics = {
  window: '1h' | '24h' | '7d';
  /** 60, 300 or 1,800 by window, or the monitor’s interval when that is longer */
  stepSeconds: number;
  /** By vantage id: the share of passing checks in the window, 0 to 100; a vantage without a check is absent */
  uptimePct: Record<string, number>;
  /** By vantage id: checks in the window that were due and not made; the shares are of those that were. Absent when all were made */
  missed?: Record<string, number>;
  series: {
    vantage: string;
    points: {
      /** Start of the bucket, in Unix seconds; a bucket without a check has no point */
      t: number;
      /** Mean of the passing checks, or of the failing ones when none passed */
      latencyMs: number;
      /** The share of passing checks */
      up: number;
    }[];
  }[];
};

export type UptimeMonitor = {
  id: string;
  name: string;
  /** Absent: not part of a service, so it opens no incidents */
  serviceId?: string;
  enabled: boolean;
  intervalSeconds: number;
  vantages: string[];
  timeoutMs: number;
  downCondition: UptimeDownCondition;
  kind: 'tcp' | 'http' | (string & {});
  /** Always present; `pending` while disabled or before the first verdict */
  state?: 'pending' | 'up' | 'down';
  /** ISO 8601, UTC, with milliseconds */
  stateSince?: string;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
  /** ISO 8601, UTC, with milliseconds */
  updatedAt: string;
  http?: UptimeHttp;
  tcp?: UptimeTcp;
  /** What each vantage sees now. Always present where one monitor is asked for, and nowhere else */
  vantageStates?: {
    vantage: string;
    /** Confirmed by as many checks in a row as `confirmations` says */
    verdict: 'unknown' | 'passing' | 'failing';
    /** The first failure of the streak that is under way */
    failingSince?: string;
    /** The newest check; absent before the first one */
    checkedAt?: string;
    /** Of the newest check */
    latencyMs?: number;
  }[];
  /** Why checks that were due lately were not made; absent when all were */
  conditions?: {
    /** host_rate: more than 10 checks a second are due at its host and port; still_running: a check lasts longer than its interval; overloaded: the prober is. More may be added */
    kind: string;
    vantage: string;
    /** ISO 8601, UTC, with milliseconds */
    at: string;
    message: string;
  }[];
};

export type UptimeMonth = {
  /** 7,200, or the monitor’s interval when that is longer */
  stepSeconds: number;
  /** By vantage id: the share of passing checks in the window, 0 to 100; a vantage without a check is absent */
  uptimePct: Record<string, number>;
  /** By vantage id: checks in the window that were due and not made; the shares are of those that were. Absent when all were made */
  missed?: Record<string, number>;
  series: {
    vantage: string;
    points: {
      /** Start of the bucket, in Unix seconds; a bucket without a check has no point */
      t: number;
      /** Mean of the passing checks, or of the failing ones when none passed */
      latencyMs: number;
      /** The share of passing checks */
      up: number;
    }[];
  }[];
};

export type UptimeService = {
  id: string;
  name: string;
  /** How many monitors the service has now */
  monitors: number;
  /** ISO 8601, UTC, with milliseconds */
  createdAt: string;
};

export type UptimeSummary = {
  /** ISO 8601, UTC, with milliseconds */
  from: string;
  /** What one cell of a bar covers: 1,800 */
  cellSeconds: number;
  /** What one point of a line covers: 3,600 */
  pointSeconds: number;
  /** Of all monitors that the caller may see, also those of further answers; a disabled one counts as `disabled` alone */
  counts: {
    up: number;
    down: number;
    pending: number;
    disabled: number;
  };
  monitors: {
    id: string;
    name: string;
    kind: 'tcp' | 'http';
    enabled: boolean;
    state: 'pending' | 'up' | 'down';
    /** ISO 8601, UTC, with milliseconds */
    since: string;
    serviceId?: string;
    /** Of the newest check of any vantage; absent before the first one */
    latencyMs?: number;
    /** 48 cells, the oldest first and the newest under way: `u` every check passed, `p` a part of the checks passed, `d` the monitor was down for some of the time, `-` no check counts */
    bar: string;
    /** 24 points: the mean latency in milliseconds of the passing checks of all vantages, or of the failing ones when none passed; null without a check */
    line: (number | null)[];
  }[];
  /** Present when more follow: pass it back as the query parameter */
  cursor?: string;
};

export type UptimeTcp = {
  host: string;
  port: number;
  /** Make a verified TLS handshake; false by default */
  tls?: boolean;
  /** Base64 of at most 4,096 bytes; sent after connecting. Shown only to those who may change the monitor, as `Kioq` (`***`), which keeps the stored one when sent */
  sendBase64?: string;
  /** Base64 of at most 1,024 bytes; what the answer must begin with. Shown only to those who may change the monitor; another one needs what is sent to be sent again */
  expectPrefixBase64?: string;
};

export type UptimeTcpInput = {
  host: string;
  port: number;
  /** Make a verified TLS handshake; false by default */
  tls?: boolean;
  /** Base64 of at most 4,096 bytes; sent after connecting. Shown only to those who may change the monitor, as `Kioq` (`***`), which keeps the stored one when sent */
  sendBase64?: string;
  /** Base64 of at most 1,024 bytes; what the answer must begin with. Shown only to those who may change the monitor; another one needs what is sent to be sent again */
  expectPrefixBase64?: string;
};

export type UptimeTransition = {
  /** ISO 8601, UTC, with milliseconds */
  at: string;
  from: 'pending' | 'up' | 'down';
  to: 'pending' | 'up' | 'down';
  /** The vantages that saw it failing at that moment */
  failingVantages: string[];
};

export type UptimeTrial = {
  vantage: string;
  passed: boolean;
  /** `fail`: it answered, but not as expected; `error`: it could not be asked */
  outcome: 'pass' | 'fail' | 'error';
  latencyMs: number;
  /** In milliseconds, summed over redirects; what did not happen is absent */
  phases: {
    resolve?: number;
    connect?: number;
    tls?: number;
    firstByte?: number;
    transfer?: number;
  };
  /** The HTTP status of the last answer */
  status?: number;
  redirects?: number;
  httpVersion?: string;
  /** 4 or 6 */
  ipVersion?: number;
  tlsVersion?: string;
  /** ISO 8601, UTC, with milliseconds */
  certificateEndsAt?: string;
  /** As in the failures of a monitor; absent when it passed */
  errorKind?: string;
  errorDetail?: string;
  /** At most 1,024 bytes of what came back, when it did not pass */
  responseSnippet?: string;
};

export type UptimeVantage = {
  id: string;
  label: string;
  /** Whether it reports now; monitors cannot be given a vantage that does not */
  available: boolean;
};
