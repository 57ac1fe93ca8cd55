import { hash } from 'node:crypto';
import type { App } from '../../../kernel/app.ts';
import type { Tx } from '../../../kernel/db/index.ts';
import { notFound, rejected, unreachable } from '../../../kernel/errors.ts';
import type { UpstreamClient } from '../clients/upstream/client.ts';
import type { Login } from '../clients/upstream/login.ts';
import { UpstreamAway } from '../rules/errors.ts';
import { topics } from '../rules/topics.ts';
import type { Upstream } from '../rules/upstreams.ts';
import * as store from '../store/upstreams.ts';

const sealedPlace = (registryId: string, host: string) => `registry.upstream_credential.password.${registryId}/${host}`;

/** What a registry logs in with at its upstreams, remembered until somebody changes it. */
export interface UpstreamLogins {
  loginFor(at: { registryId: string; host: string }): Promise<Login | undefined>;
  /** Another word for another login. Sealing the same one again makes another of it, which does no harm. */
  whoAsks(at: { registryId: string; host: string }): Promise<string>;
}

export function makeUpstreamLogins(app: App): UpstreamLogins {
  const logins = app.caches.make<{ login: Login | undefined; who: string }>({ max: 5_000 });
  const find = async ({ registryId, host }: { registryId: string; host: string }) =>
    (await logins.get(`${registryId} ${host}`, async () => {
      const found = await app.db.read((tx) => store.sealedCredential(tx, registryId, host));
      const login = found && { username: found.username, password: app.secrets.unseal(found.password, sealedPlace(registryId, host)) };
      return { value: { login, who: found ? hash('sha256', found.password) : 'anybody' }, topics: [topics.upstream(registryId, host)] };
    }))!;
  return { loginFor: async (at) => (await find(at)).login, whoAsks: async (at) => (await find(at)).who };
}

/** A login is tried before it is kept. Not inside of any transaction: an upstream may take its time, and a row lock must not. */
export async function tryLogin(client: UpstreamClient, upstream: Upstream, login: Login): Promise<void> {
  const takes = await client
    .takes(upstream, login)
    .catch((error) =>
      error instanceof UpstreamAway
        ? unreachable(`${error.message}; nothing was stored, try again later`, { cause: error })
        : Promise.reject(error),
    );
  if (!takes) rejected(`${upstream.host} rejects this login; nothing was stored, check the user name and password there`);
}

export async function setUpstreamLogin(tx: Tx, app: App, org: string, registryId: string, host: string, login: Login): Promise<void> {
  const sealed = app.secrets.seal(login.password, sealedPlace(registryId, host));
  await store.setCredential(tx, org, { registryId, host, username: login.username, sealed });
  await app.caches.drop(tx, topics.upstream(registryId, host));
}

export async function deleteUpstreamLogin(tx: Tx, app: App, org: string, registryId: string, host: string): Promise<void> {
  if (!(await store.deleteCredential(tx, org, registryId, host))) notFound('upstream credential');
  await app.caches.drop(tx, topics.upstream(registryId, host));
}
