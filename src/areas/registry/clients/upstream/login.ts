import type { Guard, GuardResponse } from '../../../../kernel/guard/index.ts';
import { UpstreamUnavailable } from '../../rules/errors.ts';
import type { Upstream } from '../../rules/upstreams.ts';
import type { Challenge } from '../../rules/www-authenticate.ts';
import { shortTimeouts, throwIfUnavailable, throwIfUnreachable } from './unavailable.ts';

export interface Login {
  username: string;
  password: string;
}

/** An Authorization header and how many seconds it is valid. */
export interface Authorization {
  value: string;
  seconds: number;
}

const basic = ({ username, password }: Login) => `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

/** The header that answers a challenge. Undefined: the registry has no login for it, or the token service refused. */
export async function answerChallenge(
  guard: Guard,
  upstream: Upstream,
  asked: Challenge | undefined,
  scope: string | undefined,
  login: Login | undefined,
): Promise<Authorization | undefined> {
  if (!asked) return undefined;
  if (asked.scheme === 'basic') return login && { value: basic(login), seconds: 300 };
  const realm = realmOf(upstream, asked.realm);
  if (asked.service) realm.searchParams.set('service', asked.service);
  if (scope ?? asked.scope) realm.searchParams.set('scope', (scope ?? asked.scope)!);
  if (login) realm.searchParams.set('account', login.username);
  const asking = guard.fetch('upstream', realm, {
    headers: login ? { authorization: basic(login) } : {},
    timeouts: shortTimeouts,
    maxBodyBytes: 262_144,
  });
  const answer = throwIfUnavailable(upstream.host, await throwIfUnreachable(`the token service of ${upstream.host}`, asking));
  if (answer.status === 200) return tokenIn(upstream, answer);
  answer.cancel();
  return undefined;
}

function realmOf(upstream: Upstream, text: string): URL {
  if (!URL.canParse(text)) throw new UpstreamUnavailable(`the upstream ${upstream.host} names a token service that is no URL`);
  const realm = new URL(text);
  // An upstream's answer must not make us send a login over plain http.
  if (realm.protocol !== 'https:' && !upstream.endpoint.startsWith('http:'))
    throw new UpstreamUnavailable(`the upstream ${upstream.host} names a token service that is not https`);
  return realm;
}

async function tokenIn(upstream: Upstream, answer: GuardResponse): Promise<Authorization> {
  const given = (await answer.json().catch(() => ({}))) as { token?: unknown; access_token?: unknown; expires_in?: unknown };
  const token = given.token ?? given.access_token;
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token))
    throw new UpstreamUnavailable(`the token service of ${upstream.host} answered without a token`);
  return { value: `Bearer ${token}`, seconds: typeof given.expires_in === 'number' ? given.expires_in : 60 };
}
