import type { IncomingMessage, ServerResponse } from 'node:http';
import { rateLimit } from '../../../../identity/rate-limit.ts';
import type { App } from '../../../../kernel/app.ts';
import { publicTopic } from '../../../services/index.ts';
import { loadOlder } from '../../engine/load-board.ts';
import { statusPageTopic } from '../../rules/addresses.ts';
import { type HistoryPlace, placeText } from '../../rules/history-place.ts';
import { noticeOf } from '../../views/render/document.ts';
import { renderOlder } from '../../views/render/history.ts';
import type { ShownStatusPage } from './memory.ts';
import { sendMissing, sendNotice } from './notices.ts';
import { makeOutput, type Output } from './output.ts';
import { cacheControl } from './renderings.ts';

export type OlderSender = (page: ShownStatusPage, place: HistoryPlace, request: IncomingMessage, response: ServerResponse) => Promise<void>;

/** Unlike the newest state these are read from the database when asked for, at any place that somebody names: so many a minute. */
const perMinute = 60;
const kept = { pieces: 500, bytes: 16 * 1024 * 1024, ms: 30_000 };

interface Piece {
  output: Output;
  bytes: number;
}

/** Older pieces of the history: read when somebody wants them, and kept for a moment, or until anything public changes. */
export function makeOlderSender(app: App): OlderSender {
  const places = rateLimit(perMinute);
  const pieces = app.caches.make<Piece>({ max: kept.pieces, ttlMs: kept.ms, bytes: { of: (p) => p.bytes, most: kept.bytes } });

  return async (page, place, request, response) => {
    const { slug } = page.renderings.board;
    const key = `${slug} ${placeText(place)}`;
    const known = pieces.peek(key);
    if (known) return known.output.send(request, response);
    const verdict = places.take(app.peers.of(request));
    if (!verdict.allowed)
      return sendNotice(request, response, 429, noticeOf('Too many requests', '<p>Please wait a moment and try again.</p>'), {
        'Retry-After': String(verdict.resetSeconds),
      });
    const piece = await pieces.get(key, async () => {
      const value = await readPiece(app, page, place);
      return value && { value, topics: [statusPageTopic(slug), publicTopic(page.org)], tenant: page.org };
    });
    return piece ? piece.output.send(request, response) : sendMissing(request, response);
  };
}

async function readPiece(app: App, page: ShownStatusPage, place: HistoryPlace): Promise<Piece | undefined> {
  const { board } = page.renderings;
  const found = await app.db.read((tx) => loadOlder(tx, board.slug, place));
  if (!found) return undefined;
  const { html, policy } = renderOlder(board, found.incidents, found.next);
  const headers = [...cacheControl, 'Content-Security-Policy', policy];
  // With what is packed of it.
  return { output: makeOutput(html, { type: 'text/html; charset=utf-8', headers }), bytes: 2 * Buffer.byteLength(html) };
}
