import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { App } from '../../../../kernel/app.ts';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { DropCache } from '../../../../kernel/cache.ts';
import { currentContext, runFor, systemContext } from '../../../../kernel/fairness/index.ts';
import { publicTopic } from '../../../services/index.ts';
import { loadBoard } from '../../engine/load-board.ts';
import { statusPageTopic } from '../../rules/addresses.ts';
import { msUntilChange } from '../../rules/board.ts';
import { listSlugs } from '../../store/status-pages.ts';
import { type LastRead, makeLastRead } from './last-read.ts';
import { type Renderings, renderingsOf } from './renderings.ts';

/** One page as last read by this process; without `page`, the slug is unknown. */
interface CachedPage {
  slug: string;
  /** Monotonic time before the read began. */
  readAt: number;
  page?: ShownStatusPage & { fingerprint: string };
}

export interface ShownStatusPage {
  is: 'page';
  org: string;
  pageId: string;
  renderings: Renderings;
  /** Set if the page may be outdated, because the database did not answer. */
  ageMs?: number;
}

/** `unavailable`: never read by this process, and the database does not answer. */
export type StatusPageAnswer = ShownStatusPage | { is: 'unknown' } | { is: 'unavailable' };

/** A page is read again at least this often: days end, and maintenance windows open and close by time alone. */
const refreshMs = 30_000;
/** The longest wait for the database while there is an older state to show. */
const readTimeoutMs = 1_000;
/** After a failed read, the slug is not read again for this long. */
const cooldownMs = 1_000;
/** While the NOTIFY connection is down, a page this fresh is still shown without a read. */
const freshWithoutNoticesMs = 250;
const retryMs = { min: 50, max: 2_000 };
const warmedPages = 200;
const limits = { pages: 2_000, bytes: 64 * 1024 * 1024 };

export interface PageCache {
  /** The cached page if it is current; no read. */
  peek(slug: string): StatusPageAnswer | undefined;
  find(slug: string): Promise<StatusPageAnswer>;
  /** Reads the most recently changed pages, so that they can be shown without a database. All callers share one promise. */
  warm(): Promise<void>;
  stop(): void;
}

/** The state of one page cache. */
interface CacheState {
  app: App;
  /** Pages known to be current. */
  cache: DropCache<CachedPage>;
  /** The last read state, current or not: shown with its age while the database is unavailable. */
  lastRead: LastRead<CachedPage>;
  /** Reads in flight while the cache hears no changes. */
  inFlight: Map<string, Promise<CachedPage | undefined>>;
  /** Per slug: reads whose result was not cached, and the retry timer. */
  uncached: Map<string, { tries: number; timer?: NodeJS.Timeout }>;
  /** Pages queued for a refresh, by organization, while a refresh runs. */
  refreshQueues: Map<string, Set<string>>;
  /** Monotonic time until which a slug is not read after a failure. */
  cooldownUntil: LRUCache<string, number>;
  stopped: boolean;
}

/**
 * Renders pages once per change and process. A writer drops the topics of changed pages in every process. A dropped page is read again at
 * once, without waiting for a reader, so that the last state is current if the database fails next.
 */
export function makePageCache(app: App): PageCache {
  const state: CacheState = {
    app,
    cache: app.caches.make<CachedPage>({ max: 20_000, ttlMs: refreshMs, bytes: { of: sizeOf, most: limits.bytes } }),
    lastRead: makeLastRead<CachedPage>({ ...limits, bytesOf: sizeOf }),
    inFlight: new Map(),
    uncached: new Map(),
    refreshQueues: new Map(),
    cooldownUntil: new LRUCache(boundedTo(10_000)),
    stopped: false,
  };
  state.cache.onDrop(({ slug, page }) => {
    if (page && !state.stopped) queueRefresh(state, page.org, slug);
  });
  let warming: Promise<void> | undefined;
  return {
    peek: (slug) => {
      const known = state.cache.peek(slug);
      return known && answerOf(known);
    },
    find: (slug) => findPage(state, slug),
    warm: () => (warming ??= warmPages(state)),
    stop: () => {
      state.stopped = true;
      for (const { timer } of state.uncached.values()) clearTimeout(timer);
    },
  };
}

async function findPage(state: CacheState, slug: string): Promise<StatusPageAnswer> {
  const { app, lastRead } = state;
  const before = lastRead.get(slug);
  if (!app.listener.hearing && before && performance.now() - before.readAt < freshWithoutNoticesMs) return answerOf(before);
  if (before && performance.now() < (state.cooldownUntil.get(slug) ?? 0)) return staleAnswer(state, slug);
  const pending = fetchPage(state, slug);
  try {
    const known = before ? await withTimeout(pending, readTimeoutMs) : await pending;
    return known ? answerOf(known) : unknownPage;
  } catch (error) {
    pending.catch(() => {});
    state.cooldownUntil.set(slug, performance.now() + cooldownMs);
    app.log.warn({ err: error, slug }, 'a status page cannot be read; what was read last is shown, with its age');
    return staleAnswer(state, slug);
  }
}

/** The cache shares one fill between waiting readers while it hears changes. While it does not, `inFlight` does. */
function fetchPage(state: CacheState, slug: string): Promise<CachedPage | undefined> {
  const { app, cache, inFlight } = state;
  const ask = () => cache.get(slug, () => fillPage(state, slug));
  if (app.listener.hearing)
    return ask().then((known) => {
      if (known) retryUntilCached(state, known);
      return known;
    });
  const pending = inFlight.get(slug) ?? ask().finally(() => inFlight.delete(slug));
  inFlight.set(slug, pending);
  return pending;
}

async function fillPage(state: CacheState, slug: string) {
  const value = await readPage(state, slug);
  const topics = [statusPageTopic(slug), ...(value.page ? [publicTopic(value.page.org)] : [])];
  const ttlMs = value.page ? msUntilChange(value.page.renderings.board, refreshMs) : refreshMs;
  return { value, topics, ttlMs, tenant: value.page?.org ?? '' };
}

async function readPage({ app, lastRead }: CacheState, slug: string): Promise<CachedPage> {
  const readAt = performance.now();
  const before = lastRead.get(slug);
  // The first read of a slug is charged to the client, because slugs can be made up.
  const org = before?.page?.org ?? currentContext().org;
  const context = { org, operation: 'status page', isSystem: org === systemContext.org };
  const loaded = await runFor(context, () => app.db.read((tx) => loadBoard(tx, app, slug)), app.watch);
  const isNewest = !before || before.readAt <= readAt;
  if (!loaded) {
    if (isNewest) lastRead.delete(slug);
    return { slug, readAt };
  }
  const { now, ...lasting } = loaded.board;
  const fingerprint = JSON.stringify([lasting, now.slice(0, 10)]);
  // Unchanged: the old renderings stay. Their `now` is older, which only a stale page would show.
  const same = before?.page?.fingerprint === fingerprint;
  const renderings = same ? before.page!.renderings : renderingsOf(loaded.board);
  if (same) renderings.board.now = now;
  const page = { is: 'page' as const, org: loaded.org, pageId: loaded.pageId, renderings, fingerprint };
  const known = { slug, readAt, page };
  if (isNewest) lastRead.set(slug, known);
  return known;
}

/** Reads a page again if the cache did not keep it. A drop during the read prevents caching, and later changes would not be heard. */
function retryUntilCached(state: CacheState, { slug, page }: CachedPage): void {
  const { app, cache, uncached } = state;
  if (!page || state.stopped || !app.listener.hearing) return;
  const before = uncached.get(slug);
  if (before?.timer) return;
  if (cache.peek(slug)) {
    uncached.delete(slug);
    return;
  }
  const tries = before?.tries ?? 0;
  const again = () => {
    uncached.set(slug, { tries: tries + 1 });
    queueRefresh(state, page.org, slug);
  };
  uncached.set(slug, { tries: tries + 1, timer: setTimeout(again, Math.min(retryMs.min * 2 ** tries, retryMs.max)).unref() });
}

/**
 * Refreshes the pages of an organization one at a time, each once even after several changes. So an organization with 100 pages and
 * flapping monitors uses one connection. Above the organization's cache share, a page is left to its next reader, because caching it would
 * evict another page.
 */
function queueRefresh(state: CacheState, org: string, slug: string): void {
  const { refreshQueues, lastRead } = state;
  if (lastRead.isFull(org)) {
    lastRead.delete(slug);
    return;
  }
  const slugs = refreshQueues.get(org);
  if (slugs) return void slugs.add(slug);
  refreshQueues.set(org, new Set([slug]));
  setImmediate(() => void drainRefreshQueue(state, org));
}

async function drainRefreshQueue(state: CacheState, org: string): Promise<void> {
  const slugs = state.refreshQueues.get(org)!;
  // Iterating a set includes elements added meanwhile.
  for (const slug of slugs) {
    slugs.delete(slug);
    if (!state.stopped) await fetchPage(state, slug).catch(() => {});
  }
  state.refreshQueues.delete(org);
}

async function warmPages(state: CacheState): Promise<void> {
  const { app } = state;
  // Feeds contain the public address, which is known only once the port is bound.
  while (!app.publicUrl() && !state.stopped) await sleep(20, undefined, { ref: false });
  if (state.stopped) return;
  const recent = await app.db.read((tx) => listSlugs(tx, warmedPages));
  for (const { slug } of recent) {
    if (state.stopped) return;
    await fetchPage(state, slug);
  }
}

const unknownPage: StatusPageAnswer = { is: 'unknown' };

const answerOf = ({ page }: CachedPage): StatusPageAnswer => page ?? unknownPage;

function staleAnswer({ lastRead }: CacheState, slug: string): StatusPageAnswer {
  const known = lastRead.get(slug);
  if (!known) return { is: 'unavailable' };
  return known.page ? { ...known.page, ageMs: performance.now() - known.readAt } : unknownPage;
}

/** Estimated bytes of a page with its renderings, which are made from the fingerprint's data. */
const sizeOf = ({ page }: CachedPage) => 1_000 + 8 * (page?.fingerprint.length ?? 0);

const readTimeout = new Error('the database did not answer in time');

function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(readTimeout), ms);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
