import { type HistoryCursor, parseCursor } from '../../rules/history-cursor.ts';

/** The path prefix of pages on the main host. */
export const prefix = '/status/';

/** The path after `/status/`, or on a host of its own after `/`, without the query. */
export function pathBelow(url: string): string {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  return path.startsWith(prefix) ? path.slice(prefix.length) : path.slice(1);
}

/** The same on the domain of one page, where the page is the root. */
export function pathAtRoot(slug: string, url: string): string {
  const query = url.indexOf('?');
  const path = query < 0 ? url : url.slice(0, query);
  if (path === '/') return slug;
  return path === '/index.json' ? `${slug}.json` : `${slug}${path}`;
}

/** The target of a path below a page's address. */
export type Route =
  | { to: 'rendering'; slug: string; name: string }
  | { to: 'older'; slug: string; cursor: HistoryCursor }
  | { to: 'logo'; slug: string }
  | { to: 'subscribe'; slug: string }
  | { to: 'confirm' | 'unsubscribe'; slug: string; token: string }
  /** The page's address with a trailing slash; redirected. */
  | { to: 'elsewhere'; slug: string }
  | { to: 'nothing' };

const slugPattern = /^[a-z0-9][a-z0-9-]{1,38}[a-z0-9]$/;
const olderPrefix = 'history/';
const tokenLink = /^(confirm|unsubscribe)\/([A-Za-z0-9_-]{20,100})$/;

/** `rest` is a path as `pathBelow` leaves it. */
export function routeOf(rest: string, isRendering: (name: string) => boolean): Route {
  const slash = rest.indexOf('/');
  const first = slash < 0 ? rest : rest.slice(0, slash);
  const isJson = slash < 0 && first.endsWith('.json');
  const slug = isJson ? first.slice(0, -'.json'.length) : first;
  if (!slugPattern.test(slug)) return { to: 'nothing' };
  if (isJson) return { to: 'rendering', slug, name: '.json' };
  if (slash < 0) return { to: 'rendering', slug, name: '' };
  const tail = rest.slice(slash + 1);
  if (tail === '') return { to: 'elsewhere', slug };
  if (tail !== '.json' && isRendering(tail)) return { to: 'rendering', slug, name: tail };
  if (tail.startsWith(olderPrefix)) {
    const cursor = parseCursor(tail.slice(olderPrefix.length));
    return cursor ? { to: 'older', slug, cursor } : { to: 'nothing' };
  }
  if (tail === 'logo' || tail === 'subscribe') return { to: tail, slug };
  const link = tokenLink.exec(tail);
  return link ? { to: link[1] as 'confirm' | 'unsubscribe', slug, token: link[2]! } : { to: 'nothing' };
}
