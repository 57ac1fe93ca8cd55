import { audit, operator } from '../../identity/audit.ts';
import type { Tx } from '../../kernel/db/index.ts';
import { installation } from '../organization.ts';
import type { Session } from '../session.ts';

interface ActedOn {
  id: string;
  /** Its name, with that of its organization. */
  cluster: string;
}

/** What the operator does to one cluster, with an entry of the audit log. */
export const actOnCluster = <T extends ActedOn>({ db }: Session, action: string, work: (tx: Tx) => Promise<T>): Promise<T> =>
  db.write(async (tx) => {
    const found = await work(tx);
    await audit(tx, operator(installation), action, { id: found.id }, { cluster: found.cluster });
    return found;
  });
