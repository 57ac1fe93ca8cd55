import { hash } from 'node:crypto';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound, rejected, unreachable } from '../../../kernel/errors.ts';
import type { UpstreamClient } from '../clients/upstream/client.ts';
import type { Login } from '../clients/upstream/login.ts';
import { UpstreamUnavailable } from '../rules/errors.ts';
import { topics } from '../rules/topics.ts';
import type { Upstream } from '../rules/upstreams.ts';
import * as store from '../store/upstreams.ts';

const sealContext = (registryId: string, host: string) => `registry.upstream_credential.password.${registryId}/${host}`;

/** The logins of registries at their upstreams, cached until they change. */
export interface UpstreamLogins {
  loginFor(at: { registryId: string; host: string }): Promise<Login | undefined>;
  /** Changes with the login. Sealing the same login again changes it too, which is harmless. */
  loginFingerprint(at: { registryId: string; host: string }): Promise<string>;
}

export function makeUpstreamLogins(app: App): UpstreamLogins {
  const logins = app.caches.make<{ login: Login | undefined; fingerprint: string }>({ max: 5_000 });
  const find = async ({ registryId, host }: { registryId: string; host: string }) =>
    (await logins.get(`${registryId} ${host}`, async () => {
      const found = await app.db.read((tx) => store.sealedCredential(tx, registryId, host));
      const login = found && { username: found.username, password: app.secrets.unseal(found.password, sealContext(registryId, host)) };
      return {
        value: { login, fingerprint: found ? hash('sha256', found.password) : 'anybody' },
        topics: [topics.upstream(registryId, host)],
      };
    }))!;
  return { loginFor: async (at) => (await find(at)).login, loginFingerprint: async (at) => (await find(at)).fingerprint };
}

/** Verifies a login before it is stored. Outside of any transaction, because an upstream may be slow and a row lock must be short. */
export async function verifyLogin(client: UpstreamClient, upstream: Upstream, login: Login): Promise<void> {
  const accepted = await client
    .acceptsLogin(upstream, login)
    .catch((error) =>
      error instanceof UpstreamUnavailable
        ? unreachable(`${error.message}; nothing was stored, try again later`, { cause: error })
        : Promise.reject(error),
    );
  if (!accepted) rejected(`${upstream.host} rejects this login; nothing was stored, check the user name and password there`);
}

export async function setUpstreamLogin(tx: Tx, app: App, org: string, registryId: string, host: string, login: Login): Promise<void> {
  const sealed = app.secrets.seal(login.password, sealContext(registryId, host));
  await store.setCredential(tx, org, { registryId, host, username: login.username, sealed });
  await app.caches.drop(tx, topics.upstream(registryId, host));
}

export async function deleteUpstreamLogin(tx: Tx, app: App, org: string, registryId: string, host: string): Promise<void> {
  if (!(await store.deleteCredential(tx, org, registryId, host))) notFound('upstream credential');
  await app.caches.drop(tx, topics.upstream(registryId, host));
}
