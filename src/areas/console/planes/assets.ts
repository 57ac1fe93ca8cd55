import type { IncomingMessage, ServerResponse } from 'node:http';
import { isOwnHost } from '../../../identity/rules/own-host.ts';
import type { App } from '../../../kernel/app.ts';
import { Refusal } from '../../../kernel/errors.ts';
import { escaped, htmlPolicy, renderHtml } from '../../../kernel/http/html.ts';
import { makeOutput, type Output } from '../../../kernel/http/output.ts';
import { type Plane, planeHeaders, refusalFor } from '../../../kernel/http/plane.ts';
import type { Bundle } from '../rules/bundle.ts';
import { documentOf, policy } from '../views/document.ts';

export interface Outputs {
  document: Output;
  assets: ReadonlyMap<string, Output>;
}

/** What the plane sends; it is looked for when somebody first asks. */
export interface Served {
  outputs: Outputs | undefined;
  find(): Promise<Outputs>;
}

const forEver = ['Cache-Control', 'public, max-age=31536000, immutable'];
const askAgain = ['Cache-Control', 'no-cache', 'Content-Security-Policy', policy, 'Cross-Origin-Opener-Policy', 'same-origin'];

const typeOf = (name: string) => (name.endsWith('.css') ? 'text/css; charset=utf-8' : 'text/javascript; charset=utf-8');

export const outputsOf = (bundle: Bundle): Outputs => ({
  document: makeOutput(documentOf(bundle), { type: 'text/html; charset=utf-8', headers: askAgain }),
  assets: new Map(
    [...bundle.files].map(([name, bytes]) => [name, makeOutput(Buffer.from(bytes), { type: typeOf(name), headers: forEver })]),
  ),
});

const assetsPath = '/assets/';
const screens = /^\/o\/[^/?]+(?:\/[^?]*)?(?:\?|$)/;

/** The document and its parts. Both are the same for everybody, so they need no caller; what they show comes from the guarded API. */
export function assetsPlane(app: App, served: Served): Plane {
  const send = (request: IncomingMessage, response: ServerResponse): boolean => {
    const { method, url = '/', headers } = request;
    if (!served.outputs || (method !== 'GET' && method !== 'HEAD') || !isOwnHost(headers.host, app.publicUrl())) return false;
    const { assets, document } = served.outputs;
    const output = url.startsWith(assetsPath) ? assets.get(url.slice(assetsPath.length)) : document;
    output?.send(request, response);
    return output !== undefined;
  };
  return {
    name: 'console',
    role: 'api',
    owns: ({ url = '/' }) => url.startsWith(assetsPath) || screens.test(url),
    sendReady: send,
    open: () => async (request, response) => {
      refuseOther(app, request);
      await served.find();
      if (send(request, response)) return;
      throw new Refusal(404, 'not_found', 'this part of the console is of another release; reload the page');
    },
    refuse: (request, response, error) => {
      const { status, code, message, headers } = refusalFor(error, request);
      const body = Buffer.from(renderHtml('The console is not here', `<p>${escaped(message)}</p>`));
      response.writeHead(status, [
        ...planeHeaders(request, ['Content-Security-Policy', htmlPolicy, 'Cache-Control', 'no-store', 'X-Error-Code', code]),
        ...Object.entries(headers).flat().map(String),
        ...['Content-Type', 'text/html; charset=utf-8', 'Content-Length', String(body.length)],
      ]);
      response.end(request.method === 'HEAD' ? undefined : body);
    },
    writesFrameHeaders: true,
  };
}

function refuseOther(app: App, { method, headers }: IncomingMessage): void {
  if (method !== 'GET' && method !== 'HEAD')
    throw new Refusal(405, 'method_not_allowed', 'the console is read with GET', { headers: { allow: 'GET, HEAD' } });
  // A name that only resolves to this server could belong to anybody.
  if (!isOwnHost(headers.host, app.publicUrl()))
    throw new Refusal(421, 'misdirected', `the console is at ${app.publicUrl()}; the address of this page names another host`);
}
