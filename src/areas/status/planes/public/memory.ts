import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { App } from '../../../../kernel/app.ts';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { DropCache } from '../../../../kernel/cache.ts';
import { currentContext, runFor, systemContext } from '../../../../kernel/fairness/index.ts';
import { publicTopic } from '../../../services/index.ts';
import { loadBoard } from '../../engine/load-board.ts';
import { statusPageTopic } from '../../rules/addresses.ts';
import { changesIn } from '../../rules/board.ts';
import { listSlugs } from '../../store/status-pages.ts';
import { type LastRead, makeLastRead } from './last-read.ts';
import { type Renderings, renderingsOf } from './renderings.ts';

/** One page as this process last read it; without renderings, there is no such page. */
interface Known {
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
export type StatusPageAnswer = ShownStatusPage | { is: 'unknown' } | { is: 'away' };

/** Without news it is read again this often: days end, and so do windows that nobody closes. */
const freshMs = 30_000;
/** Readers are not kept waiting longer than this for a database that does not answer, as long as there is something to show. */
const patienceMs = 1_000;
/** After it did not answer, nobody asks again for this long. */
const restMs = 1_000;
/** While we cannot hear of changes, what was read this moment ago still holds. */
const deafMs = 250;
const againMs = { least: 50, most: 2_000 };
const warmed = 200;
const most = { pages: 2_000, bytes: 64 * 1024 * 1024 };

export interface Memory {
  /** At once when it is known to hold. */
  peek(slug: string): StatusPageAnswer | undefined;
  find(slug: string): Promise<StatusPageAnswer>;
  /** Reads the pages that changed last, so that they can be shown when the database goes. Once: the same promise for all who ask. */
  warm(): Promise<void>;
  stop(): void;
}

/** What one memory consists of. */
interface Remembered {
  app: App;
  /** What is known to hold. */
  cache: DropCache<Known>;
  /** What was read last, whether it still holds or not: shown with its age while the database is away. */
  last: LastRead<Known>;
  /** The readings under way while the cache cannot hear of changes. */
  running: Map<string, Promise<Known | undefined>>;
  /** How often a page was read without being kept, and the timer of its next reading. */
  unkept: Map<string, { tries: number; timer?: NodeJS.Timeout }>;
  /** The pages that are to be read anew, by organization, while somebody is at it. */
  waiting: Map<string, Set<string>>;
  /** By the monotonic clock: until then nobody asks a database that did not answer. */
  restUntil: LRUCache<string, number>;
  stopped: boolean;
}

/**
 * Pages are rendered once a change in each process. Whoever changes what they show drops their topics everywhere; what is dropped
 * is read anew at once, without waiting for a reader: should the database go away then, the last state is the true one.
 */
export function makeMemory(app: App): Memory {
  const memory: Remembered = {
    app,
    cache: app.caches.make<Known>({ max: 20_000, ttlMs: freshMs, bytes: { of: sizeOf, most: most.bytes } }),
    last: makeLastRead<Known>({ ...most, bytesOf: sizeOf }),
    running: new Map(),
    unkept: new Map(),
    waiting: new Map(),
    restUntil: new LRUCache(boundedTo(10_000)),
    stopped: false,
  };
  memory.cache.onDrop(({ slug, page }) => {
    if (page && !memory.stopped) refreshInTurn(memory, page.org, slug);
  });
  let warming: Promise<void> | undefined;
  return {
    peek: (slug) => {
      const known = memory.cache.peek(slug);
      return known && answerOf(known);
    },
    find: (slug) => findPage(memory, slug),
    warm: () => (warming ??= warmPages(memory)),
    stop: () => {
      memory.stopped = true;
      for (const { timer } of memory.unkept.values()) clearTimeout(timer);
    },
  };
}

async function findPage(memory: Remembered, slug: string): Promise<StatusPageAnswer> {
  const { app, last } = memory;
  const before = last.get(slug);
  if (!app.listener.hearing && before && performance.now() - before.readAt < deafMs) return answerOf(before);
  if (before && performance.now() < (memory.restUntil.get(slug) ?? 0)) return staleAnswer(memory, slug);
  const asked = askPage(memory, slug);
  try {
    const known = before ? await orTooLate(asked, patienceMs) : await asked;
    return known ? answerOf(known) : unknown;
  } catch (error) {
    asked.catch(() => {});
    memory.restUntil.set(slug, performance.now() + restMs);
    app.log.warn({ err: error, slug }, 'a status page cannot be read; what was read last is shown, with its age');
    return staleAnswer(memory, slug);
  }
}

/** The cache lets one fill serve all who wait for it while it hears of changes. While it does not, we see to that. */
function askPage(memory: Remembered, slug: string): Promise<Known | undefined> {
  const { app, cache, running } = memory;
  const ask = () => cache.get(slug, () => fillPage(memory, slug));
  if (app.listener.hearing)
    return ask().then((known) => {
      if (known) readUntilKept(memory, known);
      return known;
    });
  const asked = running.get(slug) ?? ask().finally(() => running.delete(slug));
  running.set(slug, asked);
  return asked;
}

async function fillPage(memory: Remembered, slug: string) {
  const value = await readPage(memory, slug);
  const topics = [statusPageTopic(slug), ...(value.page ? [publicTopic(value.page.org)] : [])];
  const ttlMs = value.page ? changesIn(value.page.renderings.board, freshMs) : freshMs;
  return { value, topics, ttlMs, tenant: value.page?.org ?? '' };
}

async function readPage({ app, last }: Remembered, slug: string): Promise<Known> {
  const readAt = performance.now();
  const before = last.get(slug);
  // What was not read yet is read at the cost of whoever asks for it: anybody may make names up.
  const org = before?.page?.org ?? currentContext().org;
  const context = { org, operation: 'status page', isSystem: org === systemContext.org };
  const loaded = await runFor(context, () => app.db.read((tx) => loadBoard(tx, app, slug)), app.watch);
  const isNewest = !before || before.readAt <= readAt;
  if (!loaded) {
    if (isNewest) last.delete(slug);
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
  if (isNewest) last.set(slug, known);
  return known;
}

/** When the cache did not keep a page, since something was dropped while it was read, no change would be heard of: it is read again. */
function readUntilKept(memory: Remembered, { slug, page }: Known): void {
  const { app, cache, unkept } = memory;
  if (!page || memory.stopped || !app.listener.hearing) return;
  const before = unkept.get(slug);
  if (before?.timer) return;
  if (cache.peek(slug)) {
    unkept.delete(slug);
    return;
  }
  const tries = before?.tries ?? 0;
  const again = () => {
    unkept.set(slug, { tries: tries + 1 });
    refreshInTurn(memory, page.org, slug);
  };
  unkept.set(slug, { tries: tries + 1, timer: setTimeout(again, Math.min(againMs.least * 2 ** tries, againMs.most)).unref() });
}

/**
 * The pages of an organization are read anew one after the other, each once however often it changed meanwhile: one with a hundred pages
 * whose monitors flap takes one connection and no more. What does not fit into its share of the memory is left to its next reader, since
 * whatever was kept would drive out another page, and that one the next.
 */
function refreshInTurn(memory: Remembered, org: string, slug: string): void {
  const { waiting, last } = memory;
  if (last.isFull(org)) {
    last.delete(slug);
    return;
  }
  const slugs = waiting.get(org);
  if (slugs) return void slugs.add(slug);
  waiting.set(org, new Set([slug]));
  setImmediate(() => void refreshAll(memory, org));
}

async function refreshAll(memory: Remembered, org: string): Promise<void> {
  const slugs = memory.waiting.get(org)!;
  // A set goes on with what is added while somebody walks through it.
  for (const slug of slugs) {
    slugs.delete(slug);
    if (!memory.stopped) await askPage(memory, slug).catch(() => {});
  }
  memory.waiting.delete(org);
}

async function warmPages(memory: Remembered): Promise<void> {
  const { app } = memory;
  // Feeds name the address that readers use, and a port of the system's choosing is known only once it is bound.
  while (!app.publicUrl() && !memory.stopped) await sleep(20, undefined, { ref: false });
  if (memory.stopped) return;
  const recent = await app.db.read((tx) => listSlugs(tx, warmed));
  for (const { slug } of recent) {
    if (memory.stopped) return;
    await askPage(memory, slug);
  }
}

const unknown: StatusPageAnswer = { is: 'unknown' };

const answerOf = ({ page }: Known): StatusPageAnswer => page ?? unknown;

function staleAnswer({ last }: Remembered, slug: string): StatusPageAnswer {
  const known = last.get(slug);
  if (!known) return { is: 'away' };
  return known.page ? { ...known.page, ageMs: performance.now() - known.readAt } : unknown;
}

/** What a page weighs with its renderings, roughly: they are made from what the fingerprint holds. */
const sizeOf = ({ page }: Known) => 1_000 + 8 * (page?.fingerprint.length ?? 0);

const late = new Error('the database did not answer in time');

function orTooLate<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), ms);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
