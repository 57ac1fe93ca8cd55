import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { Guard, GuardResponse, Timeouts } from '../../../../kernel/guard/index.ts';
import type { Upstream } from '../../rules/upstreams.ts';
import { parseChallenge } from '../../rules/www-authenticate.ts';
import { answerChallenge, type Login } from './login.ts';
import { refuseAway, short, unlessUnreachable } from './refuse.ts';

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
  signal?: AbortSignal | undefined;
}

export interface UpstreamClient {
  /** The answer when the upstream has one to give (2xx, 3xx, 4xx, and 501 to a HEAD); UpstreamAway for 429, 5xx and silence. */
  ask(target: Target, ask: Ask): Promise<GuardResponse>;
  /** Whether the upstream takes this login. */
  takes(upstream: Upstream, login: Login): Promise<boolean>;
}

export interface UpstreamClientParts {
  guard: Guard;
  /** What the registry logs in with there; undefined: as anybody. */
  loginFor(target: Target): Promise<Login | undefined>;
  /** Called when an upstream says how many more pulls it allows. */
  onRemaining(host: string, pulls: number): void;
}

export function makeUpstreamClient({ guard, loginFor, onRemaining }: UpstreamClientParts): UpstreamClient {
  const tokens = new LRUCache<string, string>(boundedTo(5_000));

  const send = async (
    { host, endpoint }: Upstream,
    path: string,
    ask: Omit<Ask, 'what'>,
    authorization: string | undefined,
  ): Promise<GuardResponse> => {
    const asking = guard.fetch('upstream', endpoint + path, {
      method: ask.method,
      headers: { ...ask.headers, ...(authorization ? { authorization } : {}) },
      maxRedirects: ask.maxRedirects ?? 5, // the guard takes Authorization along to the same origin only
      decompress: false,
      maxBodyBytes: ask.maxBodyBytes ?? 8 * 1024 * 1024,
      timeouts: ask.timeouts ?? short,
      ...(ask.signal ? { signal: ask.signal } : {}),
    });
    const answer = await unlessUnreachable(`the upstream ${host}`, asking);
    // Docker Hub: `ratelimit-remaining: 76;w=21600`
    const remaining = /^(\d{1,9})(?:;|$)/.exec(String(answer.headers['ratelimit-remaining'] ?? ''))?.[1];
    if (remaining) onRemaining(host, Number(remaining));
    // 501 to a HEAD is about the method, and a GET may be answered.
    return ask.method === 'HEAD' && answer.status === 501 ? answer : refuseAway(host, answer);
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
      const challenge = parseChallenge(first.headers['www-authenticate']);
      const authorization = await answerChallenge(guard, target, challenge, scope, login);
      if (!authorization) return first;
      tokens.set(place, authorization.value, { ttl: Math.max(1, Math.min(3600, authorization.seconds) - 30) * 1000 });
      return send(target, path, ask, authorization.value);
    },
    takes: async (upstream, login) => {
      const open = await send(upstream, '/v2/', { method: 'GET' }, undefined);
      open.cancel();
      const asked = open.status === 401 ? parseChallenge(open.headers['www-authenticate']) : ({ scheme: 'basic' } as const);
      const authorization = await answerChallenge(guard, upstream, asked, undefined, login);
      if (!authorization) return false;
      const answer = await send(upstream, '/v2/', { method: 'GET' }, authorization.value);
      answer.cancel();
      return answer.status !== 401 && answer.status !== 403;
    },
  };
}
