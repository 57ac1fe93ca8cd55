import { type Api, ApiError } from '../../sdk/index.ts';

/** What one caller can see of an installation at one moment, as data. Fields of questions without an answer are absent. */
export interface Status {
  user: string;
  organization?: string;
  role?: string;
  server: string;
  commandLine: string;
  installation?: Awaited<ReturnType<Api['organization']['getInstallation']>>;
  monitors?: { total: number; isPartial: boolean; down: { name: string; since?: string }[] };
  incidents?: { title: string; service: string; status: string; openedAt: string }[];
  nearlyFull?: { name: string; used: number; limit: number; unit: 'bytes' | 'recipients' }[];
  mail?: { paused: boolean; pauseReason?: string; warning?: string; waiting: number; isPartial: boolean };
  domains?: { total: number; failed: string[] };
  clusters?: { total: number; notReady: { name: string; phase: string }[] };
  onCall?: { schedule: string; who?: string; until?: string; participants: number }[];
  /** Questions that the server refused or could not answer. */
  notAsked: { question: string; why: string; isForbidden: boolean }[];
}

// Bounds of the questions: a report is one screen, and must not cost a server more than a page of each list.
const maxPages = 5;
const maxRegistries = 20;
const nearlyFullShare = 0.9;

/** Asks everything at once. A question that is refused costs only its own answer. */
export async function askStatus(api: Api, here: { server: string; commandLine: string }): Promise<Status> {
  const me = await api.organization.getMe();
  const notAsked: Status['notAsked'] = [];
  const ask = async <T>(question: string, answer: () => Promise<T>): Promise<T | undefined> => {
    try {
      return await answer();
    } catch (error) {
      const isForbidden = error instanceof ApiError && error.status === 403;
      // An older server does not know every question.
      const isUnknown = error instanceof ApiError && error.status === 404;
      notAsked.push({ question, why: (error as Error).message, isForbidden: isForbidden || isUnknown });
      return undefined;
    }
  };
  const [installation, monitors, incidents, registries, posture, waiting, domains, clusters, onCall] = await Promise.all([
    ask('servers', () => api.organization.getInstallation()),
    ask('monitors', () => askMonitors(api)),
    ask('incidents', () => askIncidents(api)),
    ask('registries', () => askRegistries(api)),
    ask('mail', () => api.email.getEmailSettings()),
    ask('waiting mail', () => askWaiting(api)),
    ask('domains', () => askDomains(api)),
    ask('clusters', () => askClusters(api)),
    ask('on call', () => askOnCall(api)),
  ]);
  const [organization] = me.organizations;
  const daily = posture && { name: 'mail today', used: posture.acceptedToday ?? 0, limit: posture.dailyQuota, unit: 'recipients' as const };
  const quotas = [...(registries ?? []), ...(daily ? [daily] : [])];
  return {
    user: me.email,
    ...(organization ? { organization: organization.slug, role: organization.role } : {}),
    ...here,
    ...(installation && { installation }),
    ...(monitors && { monitors }),
    ...(incidents && { incidents }),
    ...(quotas.length && { nearlyFull: quotas.filter(({ used, limit }) => limit > 0 && used >= limit * nearlyFullShare) }),
    ...(posture && {
      mail: {
        paused: posture.paused,
        ...(posture.pauseReason && { pauseReason: posture.pauseReason }),
        ...(posture.warning && { warning: posture.warning }),
        waiting: waiting?.count ?? 0,
        isPartial: waiting?.isPartial ?? true,
      },
    }),
    ...(domains && { domains }),
    ...(clusters && { clusters }),
    ...(onCall && { onCall }),
    notAsked,
  };
}

async function askMonitors(api: Api): Promise<NonNullable<Status['monitors']>> {
  const found = { total: 0, isPartial: false, down: [] as { name: string; since?: string }[] };
  let pages = 0;
  for await (const { monitors, cursor } of api.uptime.listMonitors.pages({ limit: 1000 })) {
    found.total += monitors.length;
    for (const { name, state, stateSince } of monitors)
      if (state === 'down') found.down.push({ name, ...(stateSince && { since: stateSince }) });
    found.isPartial = ++pages >= maxPages && cursor !== undefined;
    if (pages >= maxPages) break;
  }
  return found;
}

async function askIncidents(api: Api): Promise<NonNullable<Status['incidents']>> {
  const lists = await Promise.all((['open', 'acknowledged'] as const).map((status) => api.oncall.listIncidents({ status, limit: 100 })));
  return lists
    .flatMap(({ incidents }) => incidents)
    .map(({ title, serviceName, status, openedAt }) => ({ title, service: serviceName, status, openedAt }));
}

async function askRegistries(api: Api): Promise<NonNullable<Status['nearlyFull']>> {
  const { registries } = await api.registry.listRegistries();
  const details = await Promise.all(registries.slice(0, maxRegistries).map(({ slug }) => api.registry.getRegistry(slug)));
  return details.map((each) => ({ name: `registry ${each.slug}`, used: each.usedBytes, limit: each.storageQuotaBytes, unit: 'bytes' }));
}

async function askWaiting(api: Api): Promise<{ count: number; isPartial: boolean }> {
  const lists = await Promise.all(['queued', 'deferred'].map((state) => api.email.listMessages({ direction: 'send', state })));
  return {
    count: lists.reduce((sum, { messages }) => sum + messages.length, 0),
    isPartial: lists.some(({ cursor }) => cursor !== undefined),
  };
}

async function askDomains(api: Api): Promise<NonNullable<Status['domains']>> {
  const { domains } = await api.email.listDomains();
  return {
    total: domains.length,
    failed: domains.filter((d) => d.sendState === 'failed' || d.receiveState === 'failed').map((d) => d.name),
  };
}

async function askClusters(api: Api): Promise<NonNullable<Status['clusters']>> {
  const { clusters } = await api.clusters.listClusters();
  return {
    total: clusters.length,
    notReady: clusters.filter(({ phase }) => phase !== 'ready').map(({ name, phase }) => ({ name, phase })),
  };
}

async function askOnCall(api: Api): Promise<NonNullable<Status['onCall']>> {
  const { schedules } = await api.oncall.listSchedules();
  return schedules.map(({ name, onCallNow, participants }) => ({
    schedule: name,
    participants: participants.length,
    ...(onCallNow && { who: onCallNow.label || onCallNow.userId, until: onCallNow.until }),
  }));
}
