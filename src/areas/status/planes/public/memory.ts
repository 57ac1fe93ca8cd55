import { setTimeout as sleep } from 'node:timers/promises';
import { LRUCache } from 'lru-cache';
import type { App } from '../../../../kernel/app.ts';
import { publicTopic } from '../../../services/index.ts';
import { slugTopic } from '../../rules/addresses.ts';
import { changesIn } from '../../rules/board.ts';
import { slugs } from '../../store/status-pages.ts';
import { loadBoard } from '../../engine/load-board.ts';
import { type Renderings, renderingsOf } from './renderings.ts';

/** One page as this process last read it; without renderings, there is no such page. */
interface Known {
  slug: string;
  /** By the monotonic clock, before the reading began. */
  readAt: number;
  page?: { org: string; pageId: string; renderings: Renderings; fingerprint: string };
}

export type Found =
  | {
      is: 'page';
      org: string;
      pageId: string;
      renderings: Renderings /** Set when nobody could look whether it still holds. */;
      ageMs?: number;
    }
  | { is: 'unknown' }
  /** Never read here, and nobody to ask. */
  | { is: 'away' };

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
  peek(slug: string): Found | undefined;
  find(slug: string): Promise<Found>;
  /** Reads the pages that changed last, so that they can be shown when the database goes. */
  warm(): Promise<void>;
  stop(): void;
}

/**
 * Pages are rendered once a change in each process. Whoever changes what they show drops their topics everywhere; what is dropped
 * is read anew at once, without waiting for a reader: should the database go away then, the last state is the true one.
 */
export function makeMemory(app: App): Memory {
  const cache = app.caches.make<Known>({ max: 20_000, ttlMs: freshMs });
  const last = new LRUCache<string, Known>({ max: most.pages, maxSize: most.bytes, sizeCalculation: sizeOf });
  const running = new Map<string, Promise<Known | undefined>>();
  const unheld = new Map<string, number>();
  const waiting = new Map<string, NodeJS.Timeout>();
  let restUntil = 0;
  let stopped = false;

  const read = async (slug: string): Promise<Known> => {
    const readAt = performance.now();
    const loaded = await app.db.read((tx) => loadBoard(app, tx, slug));
    const before = last.get(slug);
    if (!loaded) {
      if (before && before.readAt <= readAt) last.delete(slug);
      return { slug, readAt };
    }
    const { now, ...lasting } = loaded.board;
    const fingerprint = JSON.stringify([lasting, now.slice(0, 10)]);
    // Nothing changed: what was rendered still serves. Its `now` is of before, which only a late page would show.
    const same = before?.page?.fingerprint === fingerprint;
    const renderings = same ? before.page!.renderings : renderingsOf(loaded.board);
    if (same) renderings.board.now = now;
    const known = { slug, readAt, page: { org: loaded.org, pageId: loaded.pageId, renderings, fingerprint } };
    if (!before || before.readAt <= readAt) last.set(slug, known);
    return known;
  };

  const fill = async (slug: string) => {
    const value = await read(slug);
    const topics = [slugTopic(slug), ...(value.page ? [publicTopic(value.page.org)] : [])];
    return { value, topics, ttlMs: value.page ? changesIn(value.page.renderings.board, freshMs) : freshMs };
  };

  /** The cache lets one fill serve all who wait for it while it hears of changes. While it does not, we see to that. */
  const ask = (slug: string): Promise<Known | undefined> => {
    if (app.listener.hearing) return cache.get(slug, () => fill(slug)).then(held);
    let asked = running.get(slug);
    if (!asked) {
      asked = cache.get(slug, () => fill(slug)).finally(() => running.delete(slug));
      running.set(slug, asked);
    }
    return asked;
  };

  /** What the cache did not keep, because something was dropped meanwhile, nobody would be told of: it is read again until it is kept. */
  const held = (known: Known | undefined): Known | undefined => {
    if (!known?.page || stopped || !app.listener.hearing) return known;
    const { slug } = known;
    const tries = unheld.get(slug) ?? 0;
    if (cache.peek(slug)) unheld.delete(slug);
    else if (!waiting.has(slug)) {
      unheld.set(slug, tries + 1);
      const again = () => {
        waiting.delete(slug);
        refresh(slug);
      };
      waiting.set(slug, setTimeout(again, Math.min(againMs.least * 2 ** tries, againMs.most)).unref());
    }
    return known;
  };

  const refresh = (slug: string) => {
    if (!stopped) ask(slug).catch(() => {});
  };
  cache.onDrop(({ slug, page }) => {
    if (page && !stopped) setImmediate(refresh, slug);
  });

  const stale = (slug: string): Found | undefined => {
    const known = last.get(slug);
    return known && found(known, performance.now() - known.readAt);
  };

  const find = async (slug: string): Promise<Found> => {
    const before = last.get(slug);
    if (!app.listener.hearing && before && performance.now() - before.readAt < deafMs) return found(before);
    if (before && performance.now() < restUntil) return stale(slug) ?? { is: 'away' };
    const asked = ask(slug);
    try {
      const known = before ? await within(asked, patienceMs) : await asked;
      return known ? found(known) : { is: 'unknown' };
    } catch (error) {
      asked.catch(() => {});
      restUntil = performance.now() + restMs;
      app.log.warn({ err: error, slug }, 'a status page cannot be read; what was read last is shown, with its age');
      return stale(slug) ?? { is: 'away' };
    }
  };

  return {
    peek: (slug) => {
      const known = cache.peek(slug);
      return known && found(known);
    },
    find,
    warm: async () => {
      // Feeds name the address that readers use, and a port of the system's choosing is known only once it is bound.
      while (!app.publicUrl() && !stopped) await sleep(20, undefined, { ref: false });
      if (stopped) return;
      const recent = await app.db.read((tx) => slugs(tx, warmed));
      for (const { slug } of recent) {
        if (stopped) return;
        await ask(slug);
      }
    },
    stop: () => {
      stopped = true;
      for (const timer of waiting.values()) clearTimeout(timer);
    },
  };
}

const found = ({ page }: Known, ageMs?: number): Found =>
  page
    ? { is: 'page', org: page.org, pageId: page.pageId, renderings: page.renderings, ...(ageMs === undefined ? {} : { ageMs }) }
    : { is: 'unknown' };

/** What a page weighs with its renderings, roughly: they are made from what the fingerprint holds. */
const sizeOf = ({ page }: Known) => 1_000 + 8 * (page?.fingerprint.length ?? 0);

const late = new Error('the database did not answer in time');

function within<T>(work: Promise<T>, ms: number): Promise<T> {
  let timer: NodeJS.Timeout;
  const limit = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(late), ms);
  });
  return Promise.race([work, limit]).finally(() => clearTimeout(timer));
}
