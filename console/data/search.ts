import type { Api } from '../../sdk/browser.ts';
import { apiOf } from './api.ts';

// Things by their names, over all areas. The server finds what the person may read.

type Found = Awaited<ReturnType<Api['overview']['searchThings']>>['items'][number];

export interface FoundThing extends Found {
  /** The screen of it, below the organization. */
  to: string;
}

const maxFound = 12;

export async function findThings(slug: string, text: string, signal: AbortSignal): Promise<FoundThing[]> {
  const { items } = await apiOf(slug).overview.searchThings({ q: text, limit: maxFound }, { signal });
  return items.flatMap((item) => {
    const to = places[item.kind]?.(item);
    return to ? [{ ...item, to }] : [];
  });
}

const below = (path: string, ...parts: string[]): string => path + parts.map((part) => `/${encodeURIComponent(part)}`).join('');
const byId = (path: string) => (item: Found) => below(path, item.id);
const listOf = (path: string) => () => path;

/** Where a kind of thing is shown; a kind of a later release is not offered. */
const places: Record<string, (item: Found) => string> = {
  monitor: byId('/uptime/monitors'),
  service: byId('/services'),
  incident: byId('/oncall/incidents'),
  schedule: byId('/oncall/schedules'),
  policy: byId('/oncall/policies'),
  alertSource: listOf('/oncall/sources'),
  registry: byId('/registry'),
  repository: ({ id, parents }) => `${below('/registry', parents[0] ?? '')}/repository?name=${encodeURIComponent(id)}`,
  domain: byId('/email/domains'),
  webhook: listOf('/email/webhooks'),
  route: listOf('/email/routes'),
  message: byId('/email/messages'),
  cluster: byId('/clusters'),
  statusPage: byId('/status'),
  member: listOf('/organization/members'),
  role: listOf('/organization/roles'),
  token: listOf('/organization/tokens'),
};
