import type { IncomingMessage, ServerResponse } from 'node:http';
import { LRUCache } from 'lru-cache';
import type { App } from '../../../../kernel/app.ts';
import { planeHeaders } from '../../../../kernel/http/plane.ts';
import { findLogo } from '../../store/status-pages.ts';
import { sendNotFound } from './notices.ts';
import type { ShownStatusPage } from './page-cache.ts';

type Logo = NonNullable<Awaited<ReturnType<typeof findLogo>>>;

export type LogoSender = (page: ShownStatusPage, request: IncomingMessage, response: ServerResponse) => Promise<void>;

/**
 * A tenant's bytes on our origin: the type follows from the first bytes, and the headers prevent sniffing and documents. The address
 * changes with the logo.
 */
export function makeLogoSender(app: App): LogoSender {
  const kept = new LRUCache<string, Logo>({ max: 100, maxSize: 4 * 1024 * 1024, sizeCalculation: ({ logo }) => 100 + logo.length });

  return async (page, request, response) => {
    const { logo: shown } = page.renderings.board;
    if (!shown) return sendNotFound(request, response);
    const key = `${page.pageId} ${shown.version}`;
    const logo = kept.get(key) ?? (await app.db.read((tx) => findLogo(tx, page.org, page.pageId)));
    if (!logo) return sendNotFound(request, response);
    kept.set(key, logo);
    response.writeHead(200, [
      ...planeHeaders(request),
      ...['Content-Type', logo.logo_type],
      ...['Content-Length', String(logo.logo.length)],
      ...['Content-Security-Policy', "default-src 'none'; sandbox"],
      ...['Cross-Origin-Resource-Policy', 'same-origin'],
      ...['Cache-Control', 'public, max-age=31536000, immutable'],
    ]);
    response.end(request.method === 'HEAD' ? undefined : logo.logo);
  };
}
