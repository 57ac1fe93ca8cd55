import { makeLastUsed } from '../../identity/last-used.ts';
import type { Payment } from '../../identity/payment.ts';
import type { Host, Opened } from '../area.ts';
import { makeClock } from './engine/credentials/clock.ts';
import { makeCredentials } from './engine/credentials/index.ts';
import { makeRegistryMetrics, type RegistryMetrics } from './engine/metrics.ts';
import { makeOidc, type Oidc } from './engine/oidc.ts';
import { makePullThrough, makeUpstreams } from './engine/pull-through/index.ts';
import type { Upstreams } from './engine/pull-through/types.ts';
import { type Engine, makeSettings } from './engine/settings.ts';
import { registerMetrics } from './metrics.ts';
import { ociPlane } from './planes/oci/index.ts';
import { tokenPlane } from './planes/token/index.ts';
import { touchKeys } from './store/keys.ts';

/** The registry in a running process. */
export interface OpenRegistry extends Engine {
  payment: Payment;
  oidc: Oidc;
  /** Shared access to the upstreams: logins, tokens and cooldowns. */
  upstreams: Upstreams;
  metrics: RegistryMetrics;
}

export function openRegistry({ app, principals, payment }: Host): Opened<OpenRegistry> {
  const engine: Engine = { app, settings: makeSettings(app.config) };
  const metrics = makeRegistryMetrics();
  const clock = makeClock(app);
  const oidc = makeOidc(app, clock);
  const upstreams = makeUpstreams(engine, metrics);
  const lastUsed = makeLastUsed(app, touchKeys);
  const credentials = makeCredentials({ app, principals, clock, lastUsed, foreign: oidc.login });
  const own: OpenRegistry = { ...engine, payment, oidc, upstreams, metrics };
  return {
    own,
    planes: [
      ociPlane({ ...engine, metrics, authenticate: credentials.authenticate, pullThrough: makePullThrough(upstreams) }),
      tokenPlane(app, credentials),
    ],
    metrics: (registry) => registerMetrics(registry, own),
    stop: lastUsed.stop,
  };
}
