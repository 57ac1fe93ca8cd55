// The flags of Kubernetes 1.36 and kine 0.14, as their sources name them. A fake takes what the real program takes, and refuses the rest in its words.

type Manner = 'value' | 'switch';
type Known = ReadonlyMap<string, Manner>;

/** `-name` is a switch; the others take a value. */
const known = (...lists: string[]): Known =>
  new Map(
    lists.flatMap((list) => list.trim().split(/\s+/)).map((name) => (name.startsWith('-') ? [name.slice(1), 'switch'] : [name, 'value'])),
  );

const common = `
  v vmodule logging-format log-flush-frequency log-json-info-buffer-size -log-json-split-stream log-text-info-buffer-size -log-text-split-stream
  feature-gates emulated-version min-compatibility-version -profiling -contention-profiling show-hidden-metrics-for-version disabled-metrics
  allow-metric-labels allow-metric-labels-manifest`;

const serving = `
  bind-address secure-port cert-dir tls-cert-file tls-private-key-file tls-cipher-suites tls-curve-preferences tls-min-version tls-sni-cert-key
  -disable-http2-serving http2-max-streams-per-connection -permit-address-sharing -permit-port-sharing
  client-ca-file requestheader-allowed-names requestheader-client-ca-file requestheader-extra-headers-prefix requestheader-group-headers
  requestheader-uid-headers requestheader-username-headers`;

const delegated = `
  authentication-kubeconfig -authentication-skip-lookup authentication-token-webhook-cache-ttl -authentication-tolerate-lookup-failure
  authorization-always-allow-paths authorization-kubeconfig authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
  kubeconfig master kube-api-burst kube-api-content-type kube-api-qps -leader-elect leader-elect-lease-duration leader-elect-renew-deadline
  leader-elect-resource-lock leader-elect-resource-name leader-elect-resource-namespace leader-elect-retry-period`;

export const apiserverFlags = known(
  common,
  serving,
  `admission-control admission-control-config-file advertise-address -aggregator-reject-forwarding-redirect -allow-privileged -anonymous-auth
   api-audiences apiserver-count audit-log-batch-buffer-size audit-log-batch-max-size audit-log-batch-max-wait -audit-log-compress audit-log-format
   audit-log-maxage audit-log-maxbackup audit-log-maxsize audit-log-mode audit-log-path -audit-log-truncate-enabled audit-log-version
   audit-policy-file audit-webhook-config-file audit-webhook-initial-backoff audit-webhook-mode audit-webhook-version authentication-config
   authentication-token-webhook-cache-ttl authentication-token-webhook-config-file authentication-token-webhook-version authorization-config
   authorization-mode authorization-policy-file authorization-webhook-cache-authorized-ttl authorization-webhook-cache-unauthorized-ttl
   authorization-webhook-config-file authorization-webhook-version coordinated-leadership-lease-duration coordinated-leadership-renew-deadline
   coordinated-leadership-retry-period cors-allowed-origins debug-socket-path default-not-ready-toleration-seconds
   default-unreachable-toleration-seconds default-watch-cache-size delete-collection-workers disable-admission-plugins
   egress-selector-config-file -emulation-forward-compatible enable-admission-plugins -enable-aggregator-routing -enable-bootstrap-token-auth
   -enable-garbage-collector -enable-logs-handler -enable-priority-and-fairness encryption-provider-config
   -encryption-provider-config-automatic-reload endpoint-reconciler-type etcd-cafile etcd-certfile etcd-compaction-interval
   etcd-count-metric-poll-period etcd-db-metric-poll-interval etcd-healthcheck-timeout etcd-keyfile etcd-prefix etcd-readycheck-timeout
   etcd-servers etcd-servers-overrides event-ttl external-hostname goaway-chance kubelet-certificate-authority kubelet-client-certificate
   kubelet-client-key kubelet-port kubelet-preferred-address-types kubelet-read-only-port kubelet-timeout kubernetes-service-node-port
   lease-reuse-duration-seconds livez-grace-period max-connection-bytes-per-sec max-mutating-requests-inflight max-requests-inflight
   min-request-timeout oidc-ca-file oidc-client-id oidc-groups-claim oidc-groups-prefix oidc-issuer-url oidc-required-claim oidc-signing-algs
   oidc-username-claim oidc-username-prefix peer-advertise-ip peer-advertise-port peer-ca-file proxy-client-cert-file proxy-client-key-file
   request-timeout runtime-config -runtime-config-emulation-forward-compatible -service-account-extend-token-expiration service-account-issuer
   service-account-jwks-uri service-account-key-file -service-account-lookup service-account-max-token-expiration
   service-account-signing-endpoint service-account-signing-key-file service-cluster-ip-range service-node-port-range shutdown-delay-duration
   -shutdown-send-retry-after shutdown-watch-termination-grace-period storage-backend storage-initialization-timeout storage-media-type
   strict-transport-security-directives token-auth-file tracing-config-file -watch-cache watch-cache-sizes`,
);

export const controllerManagerFlags = known(
  common,
  serving,
  delegated,
  `-allocate-node-cidrs cidr-allocator-type cloud-config cloud-provider cluster-cidr cluster-name cluster-signing-cert-file
   cluster-signing-duration cluster-signing-key-file cluster-signing-kube-apiserver-client-cert-file
   cluster-signing-kube-apiserver-client-key-file cluster-signing-kubelet-client-cert-file cluster-signing-kubelet-client-key-file
   cluster-signing-kubelet-serving-cert-file cluster-signing-kubelet-serving-key-file cluster-signing-legacy-unknown-cert-file
   cluster-signing-legacy-unknown-key-file concurrent-deployment-syncs concurrent-endpoint-syncs concurrent-gc-syncs concurrent-job-syncs
   concurrent-namespace-syncs concurrent-replicaset-syncs concurrent-resource-quota-syncs concurrent-service-endpoint-syncs
   concurrent-service-syncs concurrent-serviceaccount-token-syncs -configure-cloud-routes controller-start-interval controllers
   -enable-dynamic-provisioning -enable-garbage-collector -enable-hostpath-provisioner flex-volume-plugin-dir min-resync-period
   namespace-sync-period node-cidr-mask-size node-cidr-mask-size-ipv4 node-cidr-mask-size-ipv6 node-eviction-rate node-monitor-grace-period
   node-monitor-period node-startup-grace-period node-sync-period resource-quota-sync-period root-ca-file route-reconciliation-period
   service-account-private-key-file service-cluster-ip-range terminated-pod-gc-threshold -use-service-account-credentials`,
);

export const schedulerFlags = known(common, serving, delegated, 'config pod-max-in-unschedulable-pods-duration write-config-to');

export const kineFlags = known(
  `listen-address endpoint ca-file cert-file key-file -skip-verify metrics-bind-address -metrics-enable-profiling server-cert-file server-key-file
   datastore-max-idle-connections datastore-max-open-connections datastore-connection-max-lifetime datastore-connection-max-idle-lifetime
   -key-validation slow-sql-threshold -table-migrate watch-progress-notify-interval notify-interval emulated-etcd-version compact-interval
   compact-interval-jitter compact-timeout compact-min-retain compact-batch-size poll-batch-size -debug`,
);

export const etcdFlags = known(
  `name data-dir wal-dir listen-client-urls listen-client-http-urls advertise-client-urls listen-peer-urls initial-advertise-peer-urls initial-cluster
   initial-cluster-state initial-cluster-token cert-file key-file -client-cert-auth trusted-ca-file peer-cert-file peer-key-file
   -peer-client-cert-auth peer-trusted-ca-file tls-min-version tls-max-version cipher-suites quota-backend-bytes auto-compaction-mode
   auto-compaction-retention logger log-level log-outputs heartbeat-interval election-timeout snapshot-count max-snapshots max-wals
   max-request-bytes max-txn-ops -strict-reconfig-check -pre-vote -enable-pprof metrics listen-metrics-urls`,
);

export const etcdutlFlags = known(
  `name initial-cluster initial-cluster-token initial-advertise-peer-urls data-dir wal-dir bump-revision -mark-compacted -skip-hash-check
   write-out initial-memory-map-size`,
);

export interface Flags {
  /** The last one said. */
  get(name: string): string | undefined;
  all(name: string): string[];
}

/** Ends the program as the real ones do: one line, and a status. */
export function refuse(sentence: string, status = 1): never {
  process.stderr.write(`${sentence}\n`);
  process.exit(status);
}

/** As pflag reads them: `--name=value` or `--name value`; a switch takes its value with `=` only. */
export function parseFlags(program: string, flags: Known, argv: readonly string[]): Flags {
  const found = new Map<string, string[]>();
  const unknown = (name: string) =>
    refuse(
      program === 'kine' ? `flag provided but not defined: -${name}` : `Error: unknown flag: --${name}\nSee '${program} --help' for usage.`,
    );
  for (let at = 0; at < argv.length; at++) {
    const said = /^(--?)([^=]+)(?:=(.*))?$/s.exec(argv[at]!);
    if (!said) return refuse(`Error: ${program} does not take any arguments, got ${JSON.stringify(argv[at])}`);
    const [, dashes, name = '', value] = said;
    if (dashes === '-' && program !== 'kine' && name !== 'v') return unknown(name);
    const manner = flags.get(name);
    if (!manner) return unknown(name);
    const given = value ?? (manner === 'switch' ? 'true' : argv[++at]);
    if (given === undefined) return refuse(`Error: flag needs an argument: --${name}`);
    if (manner === 'switch' && !['true', 'false'].includes(given))
      return refuse(
        `Error: invalid argument ${JSON.stringify(given)} for "--${name}" flag: strconv.ParseBool: parsing ${JSON.stringify(given)}: invalid syntax`,
      );
    found.set(name, [...(found.get(name) ?? []), given]);
  }
  return { get: (name) => found.get(name)?.at(-1), all: (name) => found.get(name) ?? [] };
}

/** The text of the file that a flag names; the program ends without it. */
export const requireFlag = (flags: Flags, name: string): string => flags.get(name) ?? refuse(`Error: --${name} must be specified`);
