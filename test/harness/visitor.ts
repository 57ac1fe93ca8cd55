import { startSession } from '../../src/areas/account/engine/sessions.ts';
import { accountById } from '../../src/identity/store/members.ts';
import type { Quarterdeck } from './index.ts';

/** A browser without its pictures: it keeps cookies, follows redirects within the server, and says that our own page sends its requests. */
export interface BrowserLike {
  get(path: string, headers?: Record<string, string>): Promise<Shown>;
  /** Sends a form. */
  post(path: string, fields?: Record<string, string>, headers?: Record<string, string>): Promise<Shown>;
  /** Asks the control API, as a page of the server does. */
  api(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<Told>;
  cookies: Map<string, string>;
  /** The header that its cookies make. */
  cookie(): string;
}

export interface Told {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes, as in request.ts
  body: any;
  code: string | null;
}

export interface Shown {
  status: number;
  /** The path after all redirects. */
  path: string;
  text: string;
  headers: Headers;
}

const own = { 'sec-fetch-site': 'same-origin' };

export function browserLike(url: string): BrowserLike {
  const cookies = new Map<string, string>();
  const cookie = () => [...cookies].map(([name, value]) => `${name}=${value}`).join('; ');
  const send = async (method: string, path: string, init: { body?: string; headers?: Record<string, string> }): Promise<Response> => {
    const answer = await fetch(`${url}${path}`, {
      method,
      redirect: 'manual',
      ...(init.body === undefined ? {} : { body: init.body }),
      headers: { ...own, ...(cookies.size ? { cookie: cookie() } : {}), ...init.headers },
    });
    for (const set of answer.headers.getSetCookie()) {
      const [pair = ''] = set.split(';');
      const name = pair.slice(0, pair.indexOf('='));
      if (/; Max-Age=0(;|$)/.test(set)) cookies.delete(name);
      else cookies.set(name, pair.slice(name.length + 1));
    }
    return answer;
  };
  const follow = async (path: string, answer: Response, left = 5): Promise<Shown> => {
    const to = answer.headers.get('location');
    if (answer.status < 300 || answer.status >= 400 || !to || left === 0)
      return { status: answer.status, path, text: await answer.text(), headers: answer.headers };
    await answer.arrayBuffer();
    return follow(to, await send('GET', to, {}), left - 1);
  };
  return {
    cookies,
    cookie,
    get: async (path, headers = {}) => follow(path, await send('GET', path, { headers })),
    post: async (path, fields = {}, headers = {}) =>
      follow(
        path,
        await send('POST', path, {
          body: new URLSearchParams(fields).toString(),
          headers: { 'content-type': 'application/x-www-form-urlencoded', ...headers },
        }),
      ),
    api: async (method, path, body, headers = {}) => {
      const answer = await send(method, `/api/v1${path}`, {
        ...(body === undefined ? {} : { body: JSON.stringify(body) }),
        headers: { ...(body === undefined ? {} : { 'content-type': 'application/json' }), ...headers },
      });
      const text = await answer.text();
      return { status: answer.status, body: text ? JSON.parse(text) : undefined, code: answer.headers.get('x-error-code') };
    },
  };
}

/** A browser in which somebody is signed in, as the operator's link does it. */
export async function signedIn({ app, url }: Quarterdeck, userId: string): Promise<BrowserLike> {
  const visitor = { address: '127.0.0.1', agent: 'a test', requestId: 'test' };
  const { key } = await app.db.write(async (tx) => startSession(tx, app, (await accountById(tx, userId))!, ['link'], visitor));
  const browser = browserLike(url);
  browser.cookies.set('qd', key);
  return browser;
}
