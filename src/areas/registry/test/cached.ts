import type { TestContext } from 'node:test';
import { type UpstreamRegistry, upstreamRegistry } from '../../../../test/fakes/upstream-registry.ts';
import { type Quarterdeck, quarterdeck } from '../../../../test/harness/index.ts';
import { registry } from '../index.ts';
import type { OpenRegistry } from '../open.ts';
import { basic } from './credentials.ts';

export interface Cached extends Quarterdeck {
  /** The registry's running state. */
  engine: OpenRegistry;
  upstream: UpstreamRegistry;
  /** With a key of the registry `acme`, below /v2/acme/up.test/. */
  pull(path: string, init?: RequestInit): Promise<Response>;
  bytes(path: string, init?: RequestInit): Promise<Buffer>;
}

/** A server with the upstreams `up.test` and `docker.io`, both at the same fake; and a client that pulls through it. */
export async function cached(t: TestContext, env: Record<string, string> = {}): Promise<Cached> {
  const upstream = await upstreamRegistry(t);
  const qd = await quarterdeck(t, {
    env: {
      QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'upstream=127.0.0.0/8',
      QUARTERDECK_REGISTRY_UPSTREAMS: `up.test=${upstream.url},docker.io=${upstream.url},gone.test=http://127.0.0.1:9`,
      ...env,
    },
  });
  await qd.owner.post('/registry/registries', { slug: 'acme' });
  const { keyId, secret } = (await qd.owner.post('/registry/registries/acme/keys', { name: 'puller', mode: 'readwrite' })).body;
  const pull: Cached['pull'] = (path, init = {}) =>
    fetch(`${qd.url}/v2/acme/${path}`, {
      ...init,
      headers: { authorization: basic(keyId, secret), ...(init.headers as Record<string, string>) },
    });
  return {
    ...qd,
    engine: qd.own(registry),
    upstream,
    pull,
    bytes: async (path, init) => Buffer.from(await (await pull(path, init)).arrayBuffer()),
  };
}
