import { makeOutput, type Output } from '../../../../kernel/http/output.ts';
import { type Board, linksAtRoot } from '../../rules/board.ts';
import { renderAtom, renderRss } from '../../views/render/feed.ts';
import { renderHistory } from '../../views/render/history.ts';
import { renderJson } from '../../views/render/json.ts';
import { type RenderedStatusPage, renderStatusPage, staleNotice } from '../../views/render/status-page.ts';
import { statuspageFiles } from '../../views/render/statuspage-api.ts';

/** All outputs of one state of a page, each rendered on first request. */
export interface Renderings {
  board: Board;
  /** The same on a domain of its own. */
  atRoot(): Renderings;
  /** Undefined: there is no such output. */
  get(name: string): Output | undefined;
  /** The same with its age. Only HTML pages change; programs get headers. */
  getStale(name: string, age: string): Output | undefined;
}

/** Long enough for a crowd that reloads, short enough to remove retracted text from caches within seconds. */
export const cacheControl = ['Cache-Control', 'public, max-age=10'];
const forPrograms = [
  ...cacheControl,
  'Access-Control-Allow-Origin',
  '*',
  'Content-Security-Policy',
  "default-src 'none'; frame-ancestors 'none'",
];
const html = 'text/html; charset=utf-8';
const json = 'application/json; charset=utf-8';

type Render = (board: Board) => { body: string; type: string; headers: readonly string[]; staleAt?: number };

const page =
  (render: (board: Board) => RenderedStatusPage): Render =>
  (board) => {
    const { html: body, policy, staleAt } = render(board);
    return { body, type: html, headers: [...cacheControl, 'Content-Security-Policy', policy], staleAt };
  };
const program =
  (type: string, render: (board: Board) => string): Render =>
  (board) => ({ body: render(board), type, headers: forPrograms });

const renderers: Record<string, Render> = {
  '': page(renderStatusPage),
  history: page(renderHistory),
  '.json': program(json, renderJson),
  'feed.atom': program('application/atom+xml; charset=utf-8', renderAtom),
  'feed.rss': program('application/rss+xml; charset=utf-8', renderRss),
  ...Object.fromEntries(
    Object.entries(statuspageFiles).map(([name, render]) => [`api/v2/${name}`, program(json, (board) => JSON.stringify(render(board)))]),
  ),
};

export const isRendering = (name: string): boolean => Object.hasOwn(renderers, name);

export function renderingsOf(board: Board): Renderings {
  let atRoot: Renderings | undefined;
  const made = new Map<string, Output>();
  const late = new Map<string, { key: string; output: Output }>();
  return {
    board,
    atRoot: () => (atRoot ??= renderingsOf({ ...board, links: linksAtRoot })),
    get: (name) => {
      const known = made.get(name);
      if (known) return known;
      if (!isRendering(name)) return undefined;
      const { body, ...options } = renderers[name]!(board);
      const output = makeOutput(body, options);
      made.set(name, output);
      return output;
    },
    getStale: (name, age) => {
      if (!isRendering(name)) return undefined;
      const key = `${board.now} ${age}`;
      const known = late.get(name);
      if (known?.key === key) return known.output;
      const { body, staleAt, ...options } = renderers[name]!(board);
      const told = staleAt === undefined ? body : body.slice(0, staleAt) + staleNotice(board, age) + body.slice(staleAt);
      const output = makeOutput(told, options);
      late.set(name, { key, output });
      return output;
    },
  };
}
