import { hash } from 'node:crypto';

// A browser in which a person has signed in keeps a second cookie, which says that and nothing else: it is no session, and it stays when
// the session ends. Wrong passwords of such a browser are counted apart, so that strangers who guess do not lock its person out.

const secureName = '__Host-qd_known';
const plainName = 'qd_known';

export const knownCookieName = (isSecure: boolean): string => (isSecure ? secureName : plainName);

/** How long a browser is known without signing in. Browsers keep no cookie longer than 400 days. */
export const knownDays = 180;

/** The value for the browser that is given this session. It follows from the session's key, and the key does not follow from it. */
export const knownKeyOf = (sessionKey: string): string => hash('sha256', `known browser ${sessionKey}`, 'base64url');

/** Whether a cookie has the form of such a value: others are not looked up. */
export const isKnownKey = (text: string | undefined): text is string => text !== undefined && /^[A-Za-z0-9_-]{43}$/.test(text);

/** What is stored. */
export const knownHash = (knownKey: string): Buffer => hash('sha256', knownKey, 'buffer');
