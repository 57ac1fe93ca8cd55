import { computed, signal } from '@preact/signals';

// Where the person is. All state that a colleague should see by the same link is in the address: the organization, the screen, its filter.

const current = signal(new URL(location.href));

export const organization = computed(() => /^\/o\/([^/]+)/.exec(current.value.pathname)?.[1] ?? '');
/** The path below the organization: `/uptime/monitors/mon_1`. */
export const path = computed(() => current.value.pathname.replace(/^\/o\/[^/]*/, '').replace(/\/$/, '') || '/');
export const query = computed(() => current.value.searchParams);

export const inOrganization = (below: string, slug = organization.value): string => `/o/${slug}${below}`;

export function go(to: string, { replace = false } = {}): void {
  const next = new URL(to, location.origin);
  if (next.origin !== location.origin) throw new Error(`${to} is not of this server`);
  if (next.href === current.value.href) return;
  if (replace) history.replaceState(null, '', next);
  else history.pushState(null, '', next);
  current.value = next;
}

/** Opens a screen of this organization. */
export const open = (below: string, options?: { replace?: boolean }): void => go(inOrganization(below), options);

/** Keeps a filter in the address, without a step for the Back button. */
export function setQuery(name: string, value: string | undefined): void {
  const next = new URL(current.value);
  if (value) next.searchParams.set(name, value);
  else next.searchParams.delete(name);
  go(next.href, { replace: true });
}

/** Links of the console change the screen without loading a page. */
export function followLinks(): void {
  addEventListener('popstate', () => {
    current.value = new URL(location.href);
  });
  addEventListener('click', (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
    const link = (event.target as Element).closest?.('a');
    if (!link || link.target || link.hasAttribute('download') || link.origin !== location.origin) return;
    // `/o` itself is the server's: it leads to an organization of the person.
    if (!/^\/o\/./.test(link.pathname)) return;
    event.preventDefault();
    go(link.href);
    scrollTo(0, 0);
  });
}

/** The parts that a pattern names, such as `/uptime/monitors/:id`; undefined where the path is another. */
export function match(pattern: string, given: string): Record<string, string> | undefined {
  const wanted = pattern.split('/');
  const parts = given.split('/');
  if (wanted.length !== parts.length) return undefined;
  const params: Record<string, string> = {};
  for (const [at, part] of wanted.entries()) {
    const value = parts[at]!;
    if (!part.startsWith(':')) {
      if (part !== value) return undefined;
      continue;
    }
    try {
      params[part.slice(1)] = decodeURIComponent(value);
    } catch {
      return undefined;
    }
  }
  return params;
}
