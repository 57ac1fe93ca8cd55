import type { App } from '../../../../kernel/app.ts';
import { loginOf, verifierOf } from '../../rules/process/database-login.ts';
import { asRole, makeRole, measureKine, measureOwned, type StoreSize, schemaOf } from '../../store/kine.ts';
import type { PlaneOptions } from '../driver.ts';
import { isOwnDatabase } from './database-url.ts';

/** What a cluster's store takes: its objects as kine's table tells them, and whatever else its role keeps in our database. After a revision: only
 *  the objects since. */
export async function measureStore(app: App, { cluster, pki }: Pick<PlaneOptions, 'cluster' | 'pki'>, after?: number): Promise<StoreSize> {
  const { id } = cluster();
  if (!isOwnDatabase(app) || !pki.inner) return app.db.read((tx) => measureKine(tx, id, after));
  const login = loginOf(schemaOf(id), pki.inner.storeKey);
  const ask = () => asRole(app.connection, login, (tx) => measureKine(tx, id, after));
  const owned = after === undefined ? await app.db.read((tx) => measureOwned(tx, id)) : undefined;
  // Something else stands in the table's place, and may say what it likes: what is on the disk counts.
  if (owned && !owned.is_plain) return { bytes: owned.besides + owned.table_bytes, objects: 0, last: 0 };
  const weight = await ask().catch(async (error: { code?: string }) => {
    if (error.code !== wrongPassword && error.code !== loginRefused) throw error;
    // A role may change its own password. kine would not come in again either.
    await app.db.write((tx) => makeRole(tx, id, verifierOf(login)));
    return ask();
  });
  return { ...weight, bytes: weight.bytes + (owned?.besides ?? 0) };
}

const wrongPassword = '28P01';
const loginRefused = '28000';
