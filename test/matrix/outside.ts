import type { TestContext } from 'node:test';
import { keepKeys } from '../../src/areas/email/test/kept-keys.ts';
import { now } from '../../src/kernel/time.ts';
import { type OidcIssuer, oidcIssuer } from '../fakes/oidc-issuer.ts';
import { type FakeTwilio, fakeTwilio } from '../fakes/twilio.ts';
import { type UpstreamRegistry, upstreamRegistry } from '../fakes/upstream-registry.ts';
import { type Quarterdeck, quarterdeck } from '../harness/index.ts';

/** The systems that operations talk to, each as a program on loopback. */
export interface Fakes {
  upstream: UpstreamRegistry;
  upstreamLogin: { username: string; password: string };
  issuer: OidcIssuer;
  twilio: FakeTwilio;
}

export interface Outside {
  qd: Quarterdeck;
  fakes: Fakes;
}

/** A server for which the world ends at this machine: names resolve nowhere, and what it may reach are the fakes. */
export async function quarterdeckOutside(t: TestContext): Promise<Outside> {
  const upstream = await upstreamRegistry(t);
  const upstreamLogin = { username: 'acme', password: 'hunter2' };
  upstream.requireLogin(upstreamLogin.username, upstreamLogin.password);
  const twilio = await fakeTwilio();
  t.after(() => twilio.close());
  const qd = await quarterdeck(t, {
    env: {
      QUARTERDECK_TRUSTED_PROXIES: '127.0.0.1',
      QUARTERDECK_DNS_SERVERS: '127.0.0.1:9',
      QUARTERDECK_TWILIO_URL: twilio.url,
      QUARTERDECK_ALLOW_PRIVATE_CIDRS: 'upstream=127.0.0.0/8;oidc=127.0.0.0/8',
      QUARTERDECK_REGISTRY_UPSTREAMS: `up.test=${upstream.url}`,
      QUARTERDECK_UPTIME_MONITOR_QUOTA: '100000',
      QUARTERDECK_CLUSTER_QUOTA: '10000',
    },
  });
  keepKeys(qd);
  const issuer = await oidcIssuer(t, async () => Date.parse(await qd.app.db.read(now)));
  return { qd, fakes: { upstream, upstreamLogin, issuer, twilio } };
}
