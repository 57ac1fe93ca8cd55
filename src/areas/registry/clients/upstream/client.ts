import { hash } from 'node:crypto';
import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { Guard, GuardResponse, Timeouts } from '../../../../kernel/guard/index.ts';
import type { Upstream } from '../../rules/upstreams.ts';
import { parseChallenge } from '../../rules/www-authenticate.ts';
import { answerChallenge, type Login } from './login.ts';
import { shortTimeouts, throwIfUnavailable, throwIfUnreachable } from './unavailable.ts';

/** One repository of one upstream, as one of our registries sees it. */
export interface Target extends Upstream {
  registryId: string;
  path: string;
}

export interface UpstreamRequest {
  method: 'GET' | 'HEAD';
  /** Below /v2/<path>/. */
  resource: string;
  headers?: Record<string, string>;
  maxBodyBytes?: number;
  timeouts?: Timeouts;
  /** 0: a redirect is returned as the answer. */
  maxRedirects?: number;
  signal?: AbortSignal | undefined;
}

export interface UpstreamClient {
  /** Resolves for 2xx, 3xx, 4xx, and 501 to a HEAD. Throws UpstreamUnavailable for 429, 5xx and timeouts. */
  request(target: Target, ask: UpstreamRequest): Promise<GuardResponse>;
  /** Whether the upstream accepts this login. */
  acceptsLogin(upstream: Upstream, login: Login): Promise<boolean>;
}

export interface UpstreamClientParts {
  guard: Guard;
  /** The registry's login at this upstream; undefined: anonymous. */
  loginFor(target: Target): Promise<Login | undefined>;
  /** Called when an upstream reports how many pulls it still allows. */
  onRemaining(host: string, pulls: number): void;
}

export function makeUpstreamClient({ guard, loginFor, onRemaining }: UpstreamClientParts): UpstreamClient {
  const tokens = new LRUCache<string, string>(boundedTo(5_000));

  const send = async (
    { host, endpoint }: Upstream,
    path: string,
    request: Omit<UpstreamRequest, 'resource'>,
    authorization: string | undefined,
  ): Promise<GuardResponse> => {
    const asking = guard.fetch('upstream', endpoint + path, {
      method: request.method,
      headers: { ...request.headers, ...(authorization ? { authorization } : {}) },
      maxRedirects: request.maxRedirects ?? 5, // the guard forwards Authorization to the same origin only
      decompress: false,
      maxBodyBytes: request.maxBodyBytes ?? 8 * 1024 * 1024,
      timeouts: request.timeouts ?? shortTimeouts,
      ...(request.signal ? { signal: request.signal } : {}),
    });
    const answer = await throwIfUnreachable(`the upstream ${host}`, asking);
    // Docker Hub: `ratelimit-remaining: 76;w=21600`
    const remaining = /^(\d{1,9})(?:;|$)/.exec(String(answer.headers['ratelimit-remaining'] ?? ''))?.[1];
    if (remaining) onRemaining(host, Number(remaining));
    // 501 to a HEAD concerns the method; a GET may still be answered.
    return request.method === 'HEAD' && answer.status === 501 ? answer : throwIfUnavailable(host, answer);
  };

  return {
    request: async (target, { resource, ...request }) => {
      const login = await loginFor(target);
      const scope = `repository:${target.path}:pull`;
      const loginHash = login ? hash('sha256', `${login.username}:${login.password}`, 'base64') : 'anybody';
      const tokenKey = `${target.registryId} ${target.host} ${loginHash} ${scope}`;
      const path = `/v2/${target.path}/${resource}`;
      const first = await send(target, path, request, tokens.get(tokenKey));
      if (first.status !== 401) return first;
      first.cancel();
      const challenge = parseChallenge(first.headers['www-authenticate']);
      const authorization = await answerChallenge(guard, target, challenge, scope, login);
      if (!authorization) return first;
      tokens.set(tokenKey, authorization.value, { ttl: Math.max(1, Math.min(3600, authorization.seconds) - 30) * 1000 });
      return send(target, path, request, authorization.value);
    },
    acceptsLogin: async (upstream, login) => {
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
