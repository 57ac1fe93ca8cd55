import type { Caller } from '../../../../test/harness/index.ts';
import { eventually } from '../../../../test/harness/process.ts';
import { made } from '../../oncall/test/support.ts';
import type { Observed } from '../rules/board.ts';

export { eventually } from '../../../../test/harness/process.ts';
export { made, takeDatabase, type Ward as House, ward as house } from '../../oncall/test/support.ts';

export const service = (by: Caller, name: string): Promise<{ id: string; name: string }> => made(by.post('/oncall/services', { name }));

export const page = (by: Caller, slug: string, serviceIds: string[], more: Record<string, unknown> = {}) =>
  made(by.post('/status-pages', { slug, title: 'Acme', serviceIds, ...more }));

export const incident = async (by: Caller, serviceId: string, title: string): Promise<string> =>
  (await made(by.post('/oncall/incidents', { serviceId, title }))).id;

export const publish = async (by: Caller, id: string, body: string, more: Record<string, unknown> = {}): Promise<string> =>
  (await made(by.post(`/oncall/incidents/${id}/updates`, { body, ...more }))).id;

export const retract = (by: Caller, id: string, update: string) => made(by.delete(`/oncall/incidents/${id}/updates/${update}`));

/** Every form in which a page is told, below its own address. */
export const outputs = [
  '',
  '/history',
  '.json',
  '/feed.atom',
  '/feed.rss',
  ...['summary', 'status', 'components', 'incidents', 'incidents/unresolved', 'scheduled-maintenances'].map((n) => `/api/v2/${n}.json`),
  ...['upcoming', 'active'].map((n) => `/api/v2/scheduled-maintenances/${n}.json`),
];

export interface Read {
  status: number;
  text: string;
  headers: Headers;
}

export async function read(url: string, headers: Record<string, string> = {}): Promise<Read> {
  const answer = await fetch(url, { headers, signal: AbortSignal.timeout(20_000) });
  return { status: answer.status, text: await answer.text(), headers: answer.headers };
}

/** Every output as it is now. */
export const readAll = async (url: string, slug: string): Promise<Map<string, Read>> =>
  new Map(await Promise.all(outputs.map(async (name) => [name, await read(`${url}/status/${slug}${name}`)] as const)));

/** A page once it says what it should; the answer. */
export const shows = (url: string, slug: string, says: (text: string) => boolean, name = ''): Promise<Read> =>
  eventually(async () => {
    const answer = await read(`${url}/status/${slug}${name}`);
    return answer.status === 200 && says(answer.text) ? answer : undefined;
  });

const day = 86_400;

/** So many days up to today, whole but for some of them: by how many days ago, the seconds down. */
export function days(today: string, count: number, down: Record<number, number> = {}): Observed['days'] {
  return Array.from({ length: count }, (_, n) => {
    const ago = count - 1 - n;
    const date = new Date(Date.parse(`${today}T00:00:00Z`) - ago * day * 1000).toISOString().slice(0, 10);
    return { date, watchedSeconds: day, downSeconds: down[ago] ?? 0 };
  });
}

/** The same by month. */
export const months = (list: Observed['days']): Observed['months'] =>
  [...Map.groupBy(list, (d) => d.date.slice(0, 7))].map(([month, of]) => ({
    month,
    watchedSeconds: of.reduce((sum, d) => sum + d.watchedSeconds, 0),
    downSeconds: of.reduce((sum, d) => sum + d.downSeconds, 0),
  }));

export const form = (url: string, fields: Record<string, string> = {}, headers: Record<string, string> = {}) =>
  fetch(url, { method: 'POST', body: new URLSearchParams(fields), headers, signal: AbortSignal.timeout(20_000) });
