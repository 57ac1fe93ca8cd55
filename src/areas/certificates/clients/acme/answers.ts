import { AuthorityLies, type Problem, readProblem } from './errors.ts';

// The answers of an authority: untrusted JSON of at most 64 KiB. Only what is used is read, and every URL must be of the directory's origin.

export interface Directory {
  newNonce: string;
  newAccount: string;
  newOrder: string;
  needsExternalAccount: boolean;
}

export interface Order {
  status: 'pending' | 'ready' | 'processing' | 'valid' | 'invalid';
  authorizations: string[];
  finalize: string;
  /** Once it is valid. */
  certificate: string | undefined;
  error: Problem | undefined;
}

export interface Authorization {
  status: 'pending' | 'valid' | 'invalid' | 'deactivated' | 'expired' | 'revoked';
  challenges: Challenge[];
}

export interface Challenge {
  type: string;
  url: string;
  token: string;
  status: string;
  error: Problem | undefined;
}

type Json = Record<string, unknown>;

/** Gives a URL of an answer back if the directory's origin holds it. */
export type CheckUrl = (url: unknown, what: string) => string;

/** An authority keeps to one origin. Another one would have us connect to wherever an answer says. */
export const sameOriginAs =
  (directory: string): CheckUrl =>
  (url, what) => {
    if (typeof url !== 'string' || url.length > 2_048 || !URL.canParse(url))
      throw new AuthorityLies(`the authority names no URL for ${what}`);
    const { origin, username, password } = new URL(url);
    if (origin !== new URL(directory).origin || username || password)
      throw new AuthorityLies(`the authority names a URL at another address for ${what}; it is not followed`);
    return url;
  };

export function readObject(text: string, what: string): Json {
  try {
    const found: unknown = JSON.parse(text);
    if (typeof found === 'object' && found !== null && !Array.isArray(found)) return found as Json;
  } catch {
    // said below
  }
  throw new AuthorityLies(`the authority answers with something that is not ${what}`);
}

export const readDirectory = (found: Json, check: CheckUrl): Directory => ({
  newNonce: check(found.newNonce, 'nonces'),
  newAccount: check(found.newAccount, 'accounts'),
  newOrder: check(found.newOrder, 'orders'),
  needsExternalAccount: (found.meta as Json | undefined)?.externalAccountRequired === true,
});

const orderStates = ['pending', 'ready', 'processing', 'valid', 'invalid'] as const;

/** The order that the authority shows must be for this name alone. */
export function readOrder(found: Json, name: string, check: CheckUrl): Order {
  const status = orderStates.find((state) => state === found.status);
  const identifiers = listOf(found.identifiers, 'the names of the order');
  const isOurs = identifiers.length === 1 && isName(identifiers[0], name);
  if (!status || !isOurs) throw new AuthorityLies(`the authority answers with an order that is not the one for ${name}`);
  const authorizations = listOf(found.authorizations, 'the proofs of the order');
  if (authorizations.length !== 1) throw new AuthorityLies(`the authority asks for ${authorizations.length} proofs of one name`);
  return {
    status,
    authorizations: authorizations.map((url) => check(url, 'a proof')),
    finalize: check(found.finalize, 'the end of an order'),
    certificate: found.certificate === undefined ? undefined : check(found.certificate, 'a certificate'),
    error: found.error === undefined ? undefined : readProblem(found.error),
  };
}

const authorizationStates = ['pending', 'valid', 'invalid', 'deactivated', 'expired', 'revoked'] as const;
/** RFC 8555, 8.1. */
const tokenPattern = /^[A-Za-z0-9_-]{16,200}$/;

export function readAuthorization(found: Json, name: string, check: CheckUrl): Authorization {
  const status = authorizationStates.find((state) => state === found.status);
  if (!status || !isName(found.identifier, name)) throw new AuthorityLies(`the authority answers with a proof that is not for ${name}`);
  return { status, challenges: listOf(found.challenges, 'the ways to prove a name').flatMap((each) => readChallenge(each as Json, check)) };
}

/** Ways that we do not know are left out. */
function readChallenge(found: Json | null, check: CheckUrl): Challenge[] {
  const { type, token, status, error } = found ?? {};
  if (type !== 'http-01' && type !== 'tls-alpn-01') return [];
  if (typeof token !== 'string' || !tokenPattern.test(token)) throw new AuthorityLies('the authority names a token that is none');
  return [
    { type, token, url: check(found?.url, 'a proof'), status: String(status), error: error === undefined ? undefined : readProblem(error) },
  ];
}

const maxListed = 100;

function listOf(found: unknown, what: string): unknown[] {
  if (!Array.isArray(found) || found.length > maxListed) throw new AuthorityLies(`the authority does not list ${what}`);
  return found;
}

const isName = (found: unknown, name: string): boolean => {
  const { type, value } = (found ?? {}) as Json;
  return type === 'dns' && typeof value === 'string' && value.toLowerCase() === name;
};
