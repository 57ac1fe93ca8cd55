import type { Overview } from '../../data/overview.ts';

// Where the things of the overview are mended.

type One<K extends keyof Overview> = NonNullable<Overview[K]> extends readonly (infer T)[] ? T : never;

const failingPlaces: Record<string, string> = {
  webhook: '/email/webhooks',
  domain: '/email/domains',
  vantage: '/uptime/vantages',
  sending: '/email',
  messages: '/email/messages',
  alertSource: '/oncall/sources',
  provider: '/oncall/provider',
  paging: '/oncall/me',
};

export const placeOfFailing = ({ kind, id }: One<'failing'>): string =>
  kind === 'domain' && id ? `/email/domains/${id}` : (failingPlaces[kind] ?? '/');

export const placeOfFull = ({ kind, id }: One<'full'>): string =>
  kind === 'registry' && id
    ? `/registry/${encodeURIComponent(id)}`
    : ({ monitors: '/uptime/monitors', email: '/email', clusters: '/clusters' }[kind as string] ?? '/registry');

export const placeOfEnding = ({ kind, parents }: One<'ends'>): string => {
  if (kind === 'registrationToken') return `/clusters/${encodeURIComponent(parents[0] ?? '')}`;
  return kind === 'invitation' ? '/organization/members' : '/organization/tokens';
};
