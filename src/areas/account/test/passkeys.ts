import { fakeAuthenticator, type Lies } from '../../../../test/fakes/authenticator.ts';
import type { Quarterdeck } from '../../../../test/harness/index.ts';
import { type BrowserLike, browserLike, signedIn } from '../../../../test/harness/visitor.ts';

/** A passkey cannot be bound to an IP address. */
export const named = (url: string) => url.replace('127.0.0.1', 'localhost');

export interface Answered {
  status: number;
  // biome-ignore lint/suspicious/noExplicitAny: answers of many shapes
  body: any;
}

/** What the script of our pages does. */
async function ask(browser: BrowserLike, path: string, fields: Record<string, string> = {}): Promise<Answered> {
  const { status, text } = await browser.post(path, fields);
  return { status, body: JSON.parse(text) };
}

export function passkeyTools(qd: Pick<Quarterdeck, 'url'>) {
  const url = named(qd.url);
  const authenticator = fakeAuthenticator(url);
  return {
    ...authenticator,
    url,
    ask,
    visitor: () => browserLike(url),
    signedIn: (server: Quarterdeck, userId: string) => signedIn({ ...server, url }, userId),
    async add(browser: BrowserLike, name = 'a key', lies: Lies = {}): Promise<Answered> {
      const { body } = await ask(browser, '/account/passkeys/options');
      return ask(browser, '/account/passkeys', { name, credential: authenticator.create(body.publicKey, lies) });
    },
    async signIn(browser: BrowserLike, lies: Lies = {}, next = ''): Promise<Answered> {
      const { body } = await ask(browser, '/sign-in/passkey/options');
      return ask(browser, '/sign-in/passkey', { next, credential: authenticator.use(body.publicKey, lies) });
    },
    async confirm(browser: BrowserLike, lies: Lies = {}): Promise<Answered> {
      const { body } = await ask(browser, '/sign-in/passkey/options', { again: '1' });
      return ask(browser, '/sign-in/again/passkey', { credential: authenticator.use(body.publicKey, lies) });
    },
  };
}
