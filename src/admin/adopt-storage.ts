import { nameStorage, openStorage } from '../boot/storage.ts';
import { audit, operator } from '../identity/audit.ts';
import { adoptStorage } from '../kernel/storage/canary.ts';
import { installation } from './organization.ts';
import type { Session } from './session.ts';

export async function adoptOwnStorage({ config, db }: Session): Promise<void> {
  const storage = await openStorage(config);
  const id = await adoptStorage(db, storage).finally(() => storage.close());
  await db.write((tx) => audit(tx, operator(installation), 'installation.storage.adopt', { id }, { storage: nameStorage(config) }));
  console.log(`${nameStorage(config)} is the storage of this installation from now on; start every server with it`);
}
