import type { Guard, GuardResponse } from '../../../../kernel/guard/index.ts';
import { UpstreamAway } from '../../rules/errors.ts';
import type { Upstream } from '../../rules/upstreams.ts';
import type { Asked } from '../../rules/www-authenticate.ts';
import { refuseAway, short, unlessUnreachable } from './refuse.ts';

export interface Login {
  username: string;
  password: string;
}

/** A header, and how long it opens something. */
export interface Authorization {
  value: string;
  seconds: number;
}

const basic = ({ username, password }: Login) => `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;

/** The header that answers a challenge; undefined when there is nothing to answer it with. */
export async function answerChallenge(
  guard: Guard,
  upstream: Upstream,
  asked: Asked | undefined,
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
    timeouts: short,
    maxBodyBytes: 262_144,
  });
  const answer = refuseAway(upstream.host, await unlessUnreachable(`the token service of ${upstream.host}`, asking));
  if (answer.status === 200) return tokenIn(upstream, answer);
  answer.cancel();
  return undefined;
}

function realmOf(upstream: Upstream, text: string): URL {
  if (!URL.canParse(text)) throw new UpstreamAway(`the upstream ${upstream.host} names a token service that is no URL`);
  const realm = new URL(text);
  // A login never travels in the clear because an answer said so.
  if (realm.protocol !== 'https:' && !upstream.endpoint.startsWith('http:'))
    throw new UpstreamAway(`the upstream ${upstream.host} names a token service that is not https`);
  return realm;
}

async function tokenIn(upstream: Upstream, answer: GuardResponse): Promise<Authorization> {
  const given = (await answer.json().catch(() => ({}))) as { token?: unknown; access_token?: unknown; expires_in?: unknown };
  const token = given.token ?? given.access_token;
  if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token))
    throw new UpstreamAway(`the token service of ${upstream.host} answered without a token`);
  return { value: `Bearer ${token}`, seconds: typeof given.expires_in === 'number' ? given.expires_in : 60 };
}
