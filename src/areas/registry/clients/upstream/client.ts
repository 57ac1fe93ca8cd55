import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import type { App } from '../../../../kernel/app.ts';
import { atMost } from '../../../../kernel/at-most.ts';
import { GuardFailure, type GuardResponse, type Timeouts } from '../../../../kernel/guard/index.ts';
import { type Asked, parseChallenge } from '../../rules/www-authenticate.ts';
import { sealedCredential } from '../../store/upstreams.ts';
import type { Upstream } from '../../rules/upstreams.ts';
import { upstreamMetricsOf } from '../../engine/upstream-metrics.ts';

/** The upstream cannot help now: unreachable, failing or asking us to wait. It may later. */
export class UpstreamAway extends Error {
  readonly status: 429 | 502;
  readonly retrySeconds: number;

  constructor(sentence: string, options: { status?: 429 | 502; retrySeconds?: number; cause?: unknown } = {}) {
    super(sentence, { cause: options.cause });
    this.name = 'UpstreamAway';
    this.status = options.status ?? 502;
    this.retrySeconds = Math.min(3600, Math.max(1, options.retrySeconds ?? 10));
  }
}

export interface Login {
  username: string;
  password: string;
}

/** One repository of one upstream, as one registry of ours sees it. */
export interface Target extends Upstream {
  registryId: string;
  path: string;
}

export interface Ask {
  method: 'GET' | 'HEAD';
  /** Below /v2/<path>/. */
  what: string;
  headers?: Record<string, string>;
  maxBodyBytes?: number;
  timeouts?: Timeouts;
  /** 0: a redirect is an answer, too. */
  maxRedirects?: number;
}

export interface UpstreamClient {
  /** The answer when the upstream has one to give (2xx, 3xx, 4xx); UpstreamAway for 429, 5xx and silence. */
  ask(target: Target, ask: Ask): Promise<GuardResponse>;
  /** Whether the upstream takes this login. */
  takes(upstream: Upstream, login: Login): Promise<boolean>;
}

export const upstreamTopic = (registryId: string, host: string) => `upstream ${registryId}/${host}`;
export const sealedPlace = (registryId: string, host: string) => `registry.upstream_credential.password.${registryId}/${host}`;

const basic = ({ username, password }: Login) => `Basic ${Buffer.from(`${username}:${password}`).toString('base64')}`;
const short: Timeouts = { connectMs: 5_000, headersMs: 10_000, idleMs: 10_000, totalMs: 20_000 };

export function makeUpstreamClient(app: App): UpstreamClient {
  const logins = app.caches.make<{ login: Login | undefined }>({ max: 5_000 });
  const tokens = new LRUCache<string, string>(atMost(5_000));

  const loginFor = async ({ registryId, host }: Target) =>
    (await logins.get(`${registryId} ${host}`, async () => {
      const found = await app.db.read((tx) => sealedCredential(tx, registryId, host));
      const login = found && { username: found.username, password: app.secrets.unseal(found.password, sealedPlace(registryId, host)) };
      return { value: { login }, topics: [upstreamTopic(registryId, host)] };
    }))!.login;

  const send = async (
    { host, endpoint }: Upstream,
    path: string,
    ask: Omit<Ask, 'what'>,
    authorization: string | undefined,
  ): Promise<GuardResponse> => {
    const answer = await app.guard
      .fetch('upstream', endpoint + path, {
        method: ask.method,
        headers: { ...ask.headers, ...(authorization ? { authorization } : {}) },
        maxRedirects: ask.maxRedirects ?? 5, // the guard takes Authorization along to the same origin only
        decompress: false,
        maxBodyBytes: ask.maxBodyBytes ?? 8 * 1024 * 1024,
        timeouts: ask.timeouts ?? short,
      })
      .catch((error) => {
        if (error instanceof GuardFailure)
          throw new UpstreamAway(`the upstream ${host} is unreachable: ${error.message}`, { cause: error });
        throw error;
      });
    // Docker Hub: `ratelimit-remaining: 76;w=21600`
    const remaining = /^(\d{1,9})(?:;|$)/.exec(String(answer.headers['ratelimit-remaining'] ?? ''))?.[1];
    if (remaining) upstreamMetricsOf(app).remaining.set({ upstream: host }, Number(remaining));
    return refuseAway(host, answer);
  };

  /** The header that answers a challenge; undefined when there is nothing to answer it with. */
  const authorize = async (
    upstream: Upstream,
    asked: Asked | undefined,
    scope: string | undefined,
    login: Login | undefined,
  ): Promise<{ value: string; seconds: number } | undefined> => {
    if (!asked) return undefined;
    if (asked.scheme === 'basic') return login && { value: basic(login), seconds: 300 };
    if (!URL.canParse(asked.realm)) throw new UpstreamAway(`the upstream ${upstream.host} names a token service that is no URL`);
    const realm = new URL(asked.realm);
    // A login never travels in the clear because an answer said so.
    if (realm.protocol !== 'https:' && !upstream.endpoint.startsWith('http:'))
      throw new UpstreamAway(`the upstream ${upstream.host} names a token service that is not https`);
    if (asked.service) realm.searchParams.set('service', asked.service);
    if (scope ?? asked.scope) realm.searchParams.set('scope', (scope ?? asked.scope)!);
    if (login) realm.searchParams.set('account', login.username);
    const answer = refuseAway(
      upstream.host,
      await app.guard
        .fetch('upstream', realm, { headers: login ? { authorization: basic(login) } : {}, timeouts: short, maxBodyBytes: 262_144 })
        .catch((error) => {
          if (error instanceof GuardFailure)
            throw new UpstreamAway(`the token service of ${upstream.host} is unreachable: ${error.message}`, { cause: error });
          throw error;
        }),
    );
    if (answer.status !== 200) {
      answer.cancel();
      return undefined;
    }
    const given = (await answer.json().catch(() => ({}))) as { token?: unknown; access_token?: unknown; expires_in?: unknown };
    const token = given.token ?? given.access_token;
    if (typeof token !== 'string' || !/^[\x21-\x7e]{1,16384}$/.test(token))
      throw new UpstreamAway(`the token service of ${upstream.host} answered without a token`);
    return { value: `Bearer ${token}`, seconds: typeof given.expires_in === 'number' ? given.expires_in : 60 };
  };

  return {
    ask: async (target, { what, ...ask }) => {
      const login = await loginFor(target);
      const scope = `repository:${target.path}:pull`;
      const who = login ? hash('sha256', `${login.username}:${login.password}`, 'base64') : 'anybody';
      const place = `${target.registryId} ${target.host} ${who} ${scope}`;
      const path = `/v2/${target.path}/${what}`;
      const first = await send(target, path, ask, tokens.get(place));
      if (first.status !== 401) return first;
      first.cancel();
      const authorization = await authorize(target, parseChallenge(first.headers['www-authenticate']), scope, login);
      if (!authorization) return first;
      tokens.set(place, authorization.value, { ttl: Math.max(1, Math.min(3600, authorization.seconds) - 30) * 1000 });
      return send(target, path, ask, authorization.value);
    },
    takes: async (upstream, login) => {
      const open = await send(upstream, '/v2/', { method: 'GET' }, undefined);
      open.cancel();
      const asked = open.status === 401 ? parseChallenge(open.headers['www-authenticate']) : ({ scheme: 'basic' } as const);
      const authorization = await authorize(upstream, asked, undefined, login);
      if (!authorization) return false;
      const answer = await send(upstream, '/v2/', { method: 'GET' }, authorization.value);
      answer.cancel();
      return answer.status !== 401 && answer.status !== 403;
    },
  };
}

function refuseAway(host: string, answer: GuardResponse): GuardResponse {
  if (answer.status !== 429 && answer.status < 500) return answer;
  answer.cancel();
  const wait = Number(answer.headers['retry-after']);
  const retrySeconds = Number.isFinite(wait) && wait > 0 ? wait : answer.status === 429 ? 60 : 10;
  if (answer.status === 429)
    throw new UpstreamAway(`the upstream ${host} limits how often it is asked; bring your own login for it, or try again later`, {
      status: 429,
      retrySeconds,
    });
  throw new UpstreamAway(`the upstream ${host} fails with ${answer.status}`, { retrySeconds });
}
