import { Secret, TOTP } from 'otpauth';
import type { Quarterdeck } from '../../../../test/harness/index.ts';
import { type BrowserLike, browserLike } from '../../../../test/harness/visitor.ts';
import { sql } from '../../../kernel/sql.ts';
import { makeHash } from '../engine/hashing.ts';
import { setPassword } from '../engine/passwords.ts';

export const goodPassword = 'correct horse battery staple';

/** Gives a person a password. */
export async function givePassword(qd: Quarterdeck, person: { userId: string; email: string }, password = goodPassword): Promise<void> {
  const phc = await makeHash(password);
  await qd.app.db.write((tx) => setPassword(tx, qd.app, { id: person.userId, email: person.email }, phc));
}

export const signIn = (browser: BrowserLike, email: string, password = goodPassword, fields: Record<string, string> = {}) =>
  browser.post('/sign-in', { email, password, ...fields });

/** A browser that has signed in by password. */
export async function signedInByPassword(qd: Quarterdeck, email: string): Promise<BrowserLike> {
  const browser = browserLike(qd.url);
  const shown = await signIn(browser, email);
  if (shown.path !== '/account') throw new Error(`the password did not sign in: ${shown.status} ${shown.text}`);
  return browser;
}

/** Code after code of an authenticator app: an implementation that is not ours. Each is of a later half minute than the one before. */
export interface AuthenticatorApp {
  next(): Promise<string>;
  /** The same code as the last one. */
  last(): string;
}

export function authenticatorApp(qd: Quarterdeck, secret: string): AuthenticatorApp {
  const totp = new TOTP({ secret: Secret.fromBase32(secret), algorithm: 'SHA1', digits: 6, period: 30 });
  let last = '';
  return {
    last: () => last,
    next: async () => {
      await qd.clock.advance('30s');
      const { rows } = await qd.app.db.read((tx) => tx.query(sql`select extract(epoch from kernel.now())::float8 as now`));
      last = totp.generate({ timestamp: (rows[0] as { now: number }).now * 1_000 });
      return last;
    },
  };
}

/** The secret that the page shows until the app is on. */
export function secretOf(shown: { status: number; text: string }): string {
  const secret = /<code>([A-Z2-7 ]+)<\/code>/.exec(shown.text)?.[1]?.replaceAll(' ', '');
  if (!secret) throw new Error(`no secret was shown: ${shown.status} ${shown.text}`);
  return secret;
}

/** Sets an authenticator app up in a browser that is signed in. */
export async function setUpApp(qd: Quarterdeck, browser: BrowserLike): Promise<{ app: AuthenticatorApp; codes: string[]; secret: string }> {
  const secret = secretOf(await browser.post('/account/second-factor/begin'));
  const app = authenticatorApp(qd, secret);
  const confirmed = await browser.post('/account/second-factor/confirm', { code: await app.next() });
  return { app, secret, codes: confirmed.text.match(/\b[A-Z2-7]{4}(-[A-Z2-7]{4}){3}\b/g) ?? [] };
}

/** Counts the statements that any connection of the server is given from now on. */
export function listenToStatements(qd: Quarterdeck, which: RegExp): () => number {
  let count = 0;
  const heard = new WeakSet<object>();
  qd.app.db.pool.on('acquire', (client) => {
    if (heard.has(client)) return;
    heard.add(client);
    const query = client.query.bind(client) as (...given: unknown[]) => unknown;
    client.query = ((...given: unknown[]) => {
      const [first] = given as [string | { text?: string }];
      if (which.test(typeof first === 'string' ? first : (first.text ?? ''))) count++;
      return query(...given);
    }) as never;
  });
  return () => count;
}
