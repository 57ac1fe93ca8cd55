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

/** One page as this process last read it; without renderings, there is no such page. */
interface CachedPage {
  slug: string;
  /** By the monotonic clock, before the reading began. */
  readAt: number;
  page?: ShownStatusPage & { fingerprint: string };
}

export interface ShownStatusPage {
  is: 'page';
  org: string;
  pageId: string;
  renderings: Renderings;
  /** Set when nobody could look whether it still holds. */
  ageMs?: number;
}

/** `away`: never read here, and nobody to ask. */
export type StatusPageAnswer = ShownStatusPage | { is: 'unknown' } | { is: 'unavailable' };

/** Without news it is read again this often: days end, and so do windows that nobody closes. */
const refreshMs = 30_000;
/** Readers are not kept waiting longer than this for a database that does not answer, as long as there is something to show. */
const readTimeoutMs = 1_000;
/** After it did not answer, nobody asks again for this long. */
const cooldownMs = 1_000;
/** While we cannot hear of changes, what was read this moment ago still holds. */
const freshWithoutNoticesMs = 250;
const retryMs = { min: 50, max: 2_000 };
const warmedPages = 200;
const limits = { pages: 2_000, bytes: 64 * 1024 * 1024 };

export interface PageCache {
  /** At once when it is known to hold. */
  peek(slug: string): StatusPageAnswer | undefined;
  find(slug: string): Promise<StatusPageAnswer>;
  /** Reads the pages that changed last, so that they can be shown when the database goes. Once: the same promise for all who ask. */
  warm(): Promise<void>;
  stop(): void;
}

/** What one memory consists of. */
interface CacheState {
  app: App;
  /** What is known to hold. */
  cache: DropCache<CachedPage>;
  /** What was read last, whether it still holds or not: shown with its age while the database is away. */
  lastRead: LastRead<CachedPage>;
  /** The readings under way while the cache cannot hear of changes. */
  inFlight: Map<string, Promise<CachedPage | undefined>>;
  /** How often a page was read without being kept, and the timer of its next reading. */
  uncached: Map<string, { tries: number; timer?: NodeJS.Timeout }>;
  /** The pages that are to be read anew, by organization, while somebody is at it. */
  refreshQueues: Map<string, Set<string>>;
  /** By the monotonic clock: until then nobody asks a database that did not answer. */
  cooldownUntil: LRUCache<string, number>;
  stopped: boolean;
}

/**
 * Pages are rendered once a change in each process. Whoever changes what they show drops their topics everywhere; what is dropped
 * is read anew at once, without waiting for a reader: should the database go away then, the last state is the true one.
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

/** The cache lets one fill serve all who wait for it while it hears of changes. While it does not, we see to that. */
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
  // What was not read yet is read at the cost of whoever asks for it: anybody may make names up.
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
  // Nothing changed: what was rendered still serves. Its `now` is of before, which only a late page would show.
  const same = before?.page?.fingerprint === fingerprint;
  const renderings = same ? before.page!.renderings : renderingsOf(loaded.board);
  if (same) renderings.board.now = now;
  const page = { is: 'page' as const, org: loaded.org, pageId: loaded.pageId, renderings, fingerprint };
  const known = { slug, readAt, page };
  if (isNewest) lastRead.set(slug, known);
  return known;
}

/** When the cache did not keep a page, since something was dropped while it was read, no change would be heard of: it is read again. */
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
 * The pages of an organization are read anew one after the other, each once however often it changed meanwhile: one with a hundred pages
 * whose monitors flap takes one connection and no more. What does not fit into its share of the memory is left to its next reader, since
 * whatever was kept would drive out another page, and that one the next.
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
  // A set goes on with what is added while somebody walks through it.
  for (const slug of slugs) {
    slugs.delete(slug);
    if (!state.stopped) await fetchPage(state, slug).catch(() => {});
  }
  state.refreshQueues.delete(org);
}

async function warmPages(state: CacheState): Promise<void> {
  const { app } = state;
  // Feeds name the address that readers use, and a port of the system's choosing is known only once it is bound.
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

/** What a page weighs with its renderings, roughly: they are made from what the fingerprint holds. */
const sizeOf = ({ page }: CachedPage) => 1_000 + 8 * (page?.fingerprint.length ?? 0);

const readTimeout = new Error('the database did not answer in time');

function withTimeout<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(readTimeout), ms);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
