import type { App } from '../../kernel/app.ts';
import { defineArea } from '../area.ts';
import { makeClock } from './credentials/clock.ts';
import { makeCredentials } from './credentials/index.ts';
import { type LastUsed, makeLastUsed } from './credentials/last-used.ts';
import { loadKey } from './credentials/loader.ts';
import { createRegistry } from './operations/create-registry.ts';
import { createRegistryKey } from './operations/create-registry-key.ts';
import { createRegistryLogin } from './operations/create-registry-login.ts';
import { deleteRegistry } from './operations/delete-registry.ts';
import { getRegistry } from './operations/get-registry.ts';
import { listRegistries } from './operations/list-registries.ts';
import { listRegistryKeys } from './operations/list-registry-keys.ts';
import { revokeRegistryKey } from './operations/revoke-registry-key.ts';
import { revokeRegistryLogin } from './operations/revoke-registry-login.ts';
import { tokenHandler } from './planes/token/index.ts';
import { registriesOf } from './store/registries.ts';

/** What the data plane of a running process began and must end. */
const running = new WeakMap<App, LastUsed>();

export const registry = defineArea({
  name: 'registry',
  operations: [
    listRegistries,
    createRegistry,
    getRegistry,
    deleteRegistry,
    createRegistryLogin,
    revokeRegistryLogin,
    listRegistryKeys,
    createRegistryKey,
    revokeRegistryKey,
  ],
  migrations: { schema: 'registry', folder: new URL('./migrations/', import.meta.url) },
  resources: [
    {
      service: 'registry',
      permission: 'registry.registry.read',
      list: async (tx, org, visible) => (await registriesOf(tx, org, visible)).map(({ id, slug }) => ({ id, name: slug })),
    },
  ],
  loaders: { reg: loadKey },
  raw: (app, principals) => {
    const lastUsed = makeLastUsed(app);
    running.set(app, lastUsed);
    const credentials = makeCredentials({ app, principals, clock: makeClock(app), lastUsed });
    const token = tokenHandler(app, credentials);
    return (request, response) => token(request, response);
  },
  start: async (app) => ({ stop: async () => running.get(app)?.stop() }),
});
