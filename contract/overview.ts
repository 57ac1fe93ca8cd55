import Type, { type Static } from 'typebox';
import { area, DateTime, input, named, oneOf, op } from './common.ts';

const OnCall = named(
  'OverviewOnCall',
  Type.Object({
    scheduleId: Type.String(),
    scheduleName: Type.String(),
    until: Type.Optional(
      Type.String({ format: 'date-time', description: 'When the caller’s shift ends; absent when it goes on for 28 days or more' }),
    ),
    nextUserId: Type.Optional(Type.String({ description: 'Who is on call then; absent for a gap' })),
    nextLabel: Type.Optional(Type.String()),
  }),
);

const Shift = named(
  'OverviewShift',
  Type.Object({ scheduleId: Type.String(), scheduleName: Type.String(), startsAt: DateTime, endsAt: DateTime }),
);

const Incident = named(
  'OverviewIncident',
  Type.Object({
    id: Type.String(),
    title: Type.String(),
    status: oneOf(['open', 'acknowledged']),
    pagesMe: Type.Boolean({ description: 'Whether the caller was paged about it' }),
    serviceId: Type.String(),
    serviceName: Type.String(),
    openedAt: DateTime,
  }),
);

const Down = named(
  'OverviewDown',
  Type.Object({
    kind: oneOf(['monitor', 'cluster']),
    id: Type.String({ description: 'What the API takes to address it: the id of a monitor, the name of a cluster' }),
    name: Type.String(),
    state: Type.String({ description: 'down, degraded or failed' }),
    since: Type.Optional(DateTime),
    serviceId: Type.Optional(Type.String()),
    serviceName: Type.Optional(Type.String({ description: 'Absent where the caller may not read the service' })),
    reason: Type.Optional(Type.String()),
  }),
);

const Failing = named(
  'OverviewFailing',
  Type.Object({
    kind: oneOf(['webhook', 'domain', 'vantage', 'sending', 'messages', 'alertSource', 'provider', 'paging']),
    id: Type.Optional(Type.String({ description: 'Of the thing; absent where the whole organization is meant' })),
    name: Type.String(),
    since: Type.Optional(DateTime),
    reason: Type.String({ description: 'A sentence' }),
  }),
);

const Ending = named(
  'OverviewEnding',
  Type.Object({
    kind: oneOf(['token', 'invitation', 'registrationToken']),
    id: Type.String(),
    name: Type.String(),
    endsAt: DateTime,
    parents: Type.Array(Type.String(), { description: 'What its path names before it: the cluster of a registration token' }),
  }),
);

const Full = named(
  'OverviewFull',
  Type.Object({
    kind: oneOf(['registry', 'monitors', 'email', 'clusters']),
    id: Type.Optional(Type.String({ description: 'The slug of a registry; absent where the whole organization is meant' })),
    name: Type.String(),
    used: Type.Integer(),
    limit: Type.Integer(),
    percent: Type.Integer({ description: 'Rounded down' }),
    unit: oneOf(['bytes', 'monitors', 'recipients', 'clusters']),
  }),
);

const Change = named(
  'OverviewChange',
  Type.Object({
    id: Type.String({ description: 'Of the entry of the audit log' }),
    at: DateTime,
    actorLabel: Type.String(),
    action: Type.String(),
    target: Type.String(),
  }),
);

/** In the order in which they are best done. */
export const firstSteps = ['service', 'monitor', 'schedule', 'policy', 'paging', 'image', 'domain', 'cluster'] as const;

const Step = named('OverviewStep', Type.Object({ step: oneOf(firstSteps), done: Type.Boolean() }));

export type OnCall = Static<typeof OnCall>;
export type Shift = Static<typeof Shift>;
export type OverviewIncident = Static<typeof Incident>;
export type Down = Static<typeof Down>;
export type Failing = Static<typeof Failing>;
export type Ending = Static<typeof Ending>;
export type Full = Static<typeof Full>;
export type Change = Static<typeof Change>;
export type Step = Static<typeof Step>;

/** Things that a search finds, in the order in which equal matches are shown. */
export const searchKinds = [
  'service',
  'monitor',
  'incident',
  'schedule',
  'policy',
  'alertSource',
  'statusPage',
  'registry',
  'repository',
  'domain',
  'webhook',
  'route',
  'message',
  'cluster',
  'member',
  'role',
  'token',
] as const;
export type SearchKind = (typeof searchKinds)[number];

const Found = named(
  'SearchItem',
  Type.Object({
    kind: oneOf(searchKinds),
    id: Type.String({ description: 'What the API takes to address it: an id, or a slug or name where the path has that' }),
    name: Type.String(),
    detail: Type.Optional(Type.String({ description: 'A word that tells it from others' })),
    parents: Type.Array(Type.String(), { description: 'What its path names before it: the registry of a repository' }),
  }),
);
export type Found = Static<typeof Found>;

/** Part of an answer that could not be had. */
const Unavailable = named(
  'Unavailable',
  Type.Object({ area: Type.String(), reason: Type.String({ description: 'A sentence: why its part is missing' }) }),
);
export const unavailable = Type.Array(Unavailable, {
  description: 'Areas whose part is missing, though the caller may read it; empty when the answer is whole',
});

const listed = (what: string) => ({
  description: `${what}; at most 20, \`totals\` counts all. Absent: the caller may read nothing of the kind`,
});
const total = Type.Optional(Type.Integer());

const Totals = named(
  'OverviewTotals',
  Type.Object(
    { incidents: total, down: total, failing: total, ends: total, full: total },
    { description: 'How many there are of each list that the caller may read; counted up to 1,000' },
  ),
);

export const overview = area(
  {
    name: 'overview',
    label: 'Overview',
    description: 'What needs you now, and what is where: answers that every area has a part in, each for what the caller may read.',
    unauthenticated: 'unauthenticated',
    away: 503,
  },
  {
    getOverview: op({
      method: 'GET',
      path: '/overview',
      summary: 'What needs you now',
      description:
        'Each list holds what the caller may read, of services that the organization is entitled to. A list that is absent is one that the caller may read nothing of; a part that could not be had is named in `unavailable`.',
      permission: 'member',
      kinds: [],
      alsoShows: [
        'oncall.incident',
        'oncall.schedule',
        'oncall.policy',
        'oncall.source',
        'oncall.provider',
        'uptime.monitor',
        'uptime.service',
        'email.domain',
        'email.webhook',
        'email.message',
        'clusters.cluster',
        'registry.registry',
        'registry.image',
        'tokens.token',
        'organization.audit',
      ],
      responses: {
        200: Type.Object({
          at: DateTime,
          onCall: Type.Optional(
            Type.Array(OnCall, { description: 'Schedules by which the caller is on call now. Absent: the caller may not read schedules' }),
          ),
          nextShift: Type.Optional({ ...Shift, description: 'The caller’s next shift within 28 days, of a schedule not in `onCall`' }),
          incidents: Type.Optional(
            Type.Array(Incident, listed('Open and acknowledged incidents, those that paged the caller first, then the newest')),
          ),
          down: Type.Optional(Type.Array(Down, listed('Monitors that are down, and clusters that are degraded or failed'))),
          failing: Type.Optional(Type.Array(Failing, listed('What does not do its work: it delivers, sends or reports nothing'))),
          ends: Type.Optional(Type.Array(Ending, listed('What ends within 14 days and was made to last a day or more, the soonest first'))),
          full: Type.Optional(Type.Array(Full, listed('Limits of which 80 % or more are used, the fullest first'))),
          changes: Type.Optional(
            Type.Array(Change, { description: 'The last 10 entries of the audit log. Absent: the caller may not read it' }),
          ),
          firstSteps: Type.Array(Step, {
            description: 'What a new organization does first, of what the caller may do; empty once all of it is done',
          }),
          totals: Totals,
          unavailable,
        }),
      },
      extension: true,
    }),
    searchThings: op({
      method: 'GET',
      path: '/search',
      summary: 'Find things by name or id',
      description:
        'Looks for the text in names, slugs, addresses and subjects of what the caller may read, whatever its case, and at the beginning of ids. What is named so comes first, then names that begin with it, then ids, then names that hold it. `%`, `_` and `*` mean themselves.',
      permission: 'member',
      kinds: [],
      query: input({
        q: Type.String({ minLength: 1, maxLength: 100, 'x-trim': true, description: 'Part of a name, or the beginning of an id; trimmed' }),
        limit: Type.Optional(Type.Integer({ minimum: 1, maximum: 100, description: 'At most this many; 20 by default' })),
      }),
      responses: {
        200: Type.Object({
          items: Type.Array(Found),
          partial: Type.Boolean({
            description: 'There may be more: not everything was looked at (`partialOf`), or there were more matches than `limit`',
          }),
          partialOf: Type.Array(oneOf(searchKinds), {
            description: 'Kinds of which only the newest were looked at: 10,000 of each, and 1,000 messages',
          }),
          unavailable,
        }),
      },
      extension: true,
    }),
  },
);
