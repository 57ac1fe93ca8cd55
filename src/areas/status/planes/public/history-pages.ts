import type { IncomingMessage, ServerResponse } from 'node:http';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { makeOutput, type Output } from '../../../../kernel/http/output.ts';
import { publicTopic } from '../../../services/index.ts';
import { loadHistoryPage } from '../../engine/load-board.ts';
import { statusPageTopic } from '../../rules/addresses.ts';
import { formatCursor, type HistoryCursor } from '../../rules/history-cursor.ts';
import { noticeOf } from '../../views/render/document.ts';
import { renderOlder } from '../../views/render/history.ts';
import { sendNotFound, sendNotice } from './notices.ts';
import type { ShownStatusPage } from './page-cache.ts';
import { cacheControl } from './renderings.ts';

export type HistoryPageSender = (
  page: ShownStatusPage,
  asked: { cursor: HistoryCursor; isAtRoot: boolean },
  request: IncomingMessage,
  response: ServerResponse,
) => Promise<void>;

/** Database reads per minute and client: history pages are read on request, at any cursor in the URL. */
const readsPerMinute = 60;
const cacheLimits = { pages: 500, bytes: 16 * 1024 * 1024, ms: 30_000 };

interface CachedHistoryPage {
  output: Output;
  bytes: number;
}

/** Serves history pages: read on request, cached for 30 s or until public data changes. */
export function makeHistoryPageSender(app: App): HistoryPageSender {
  const reads = rateLimit(readsPerMinute);
  const pages = app.caches.make<CachedHistoryPage>({
    max: cacheLimits.pages,
    ttlMs: cacheLimits.ms,
    bytes: { of: (p) => p.bytes, most: cacheLimits.bytes },
  });

  return async (page, asked, request, response) => {
    const { slug } = page.renderings.board;
    const key = `${slug} ${formatCursor(asked.cursor)}${asked.isAtRoot ? ' at root' : ''}`;
    const known = pages.peek(key);
    if (known) return known.output.send(request, response);
    const verdict = reads.take(app.peers.of(request));
    if (!verdict.allowed)
      return sendNotice(request, response, 429, noticeOf('Too many requests', '<p>Please wait a moment and try again.</p>'), {
        'Retry-After': String(verdict.resetSeconds),
      });
    const cached = await pages.get(key, async () => {
      const value = await renderPage(app, page, asked);
      return value && { value, topics: [statusPageTopic(slug), publicTopic(page.org)], tenant: page.org };
    });
    return cached ? cached.output.send(request, response) : sendNotFound(request, response);
  };
}

async function renderPage(
  app: App,
  page: ShownStatusPage,
  { cursor, isAtRoot }: { cursor: HistoryCursor; isAtRoot: boolean },
): Promise<CachedHistoryPage | undefined> {
  const { board } = isAtRoot ? page.renderings.atRoot() : page.renderings;
  const found = await app.db.read((tx) => loadHistoryPage(tx, board.slug, cursor));
  if (!found) return undefined;
  const { html, policy } = renderOlder(board, found.incidents, found.next);
  const headers = [...cacheControl, 'Content-Security-Policy', policy];
  // Twice the size, for the compressed copies.
  return { output: makeOutput(html, { type: 'text/html; charset=utf-8', headers }), bytes: 2 * Buffer.byteLength(html) };
}
