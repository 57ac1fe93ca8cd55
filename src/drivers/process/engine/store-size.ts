import type { App } from '../../../kernel/app.ts';
import type { PlaneOptions } from '../../driver.ts';
import { loginOf, verifierOf } from '../rules/database-login.ts';
import { asRole, makeRole, measureKine, measureOwned, type StoreSize, schemaOf } from '../store/kine.ts';
import { isOwnDatabase } from './database-url.ts';
import type { ProcessPlane } from './state.ts';

/** The store that requests reach: the wanted generation may not be there yet. */
export function servedStore({ parts, servedGeneration }: ProcessPlane): Pick<PlaneOptions, 'cluster' | 'pki'> {
  const cluster = () => {
    const row = parts.cluster();
    return { ...row, store_generation: servedGeneration ?? row.store_generation };
  };
  return { cluster, pki: parts.pki };
}

/** The bytes of a cluster's store: the objects in kine's table, and everything else that its role owns in our database. With `after`: only the
 *  objects since that revision. */
export async function measureStore(app: App, { cluster, pki }: Pick<PlaneOptions, 'cluster' | 'pki'>, after?: number): Promise<StoreSize> {
  const { id, store_generation } = cluster();
  const schema = schemaOf(id, store_generation);
  if (!isOwnDatabase(app) || !pki.inner) return app.db.read((tx) => measureKine(tx, schema, after));
  const login = loginOf(schema, pki.inner.storeKey);
  const ask = () => asRole(app.connection, login, (tx) => measureKine(tx, schema, after));
  const owned = after === undefined ? await app.db.read((tx) => measureOwned(tx, schema)) : undefined;
  // The role replaced the table by something else, which could report any size: the size on disk counts.
  if (owned && !owned.is_plain) return { bytes: owned.besides + owned.table_bytes, objects: 0, last: 0 };
  const weight = await ask().catch(async (error: { code?: string }) => {
    if (error.code !== wrongPassword && error.code !== loginRefused) throw error;
    // A role may change its own password; kine could not log in again either.
    await app.db.write((tx) => makeRole(tx, schema, verifierOf(login)));
    return ask();
  });
  return { ...weight, bytes: weight.bytes + (owned?.besides ?? 0) };
}

const wrongPassword = '28P01';
const loginRefused = '28000';
