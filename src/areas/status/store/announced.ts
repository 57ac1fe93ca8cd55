import Type from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';

const UpdateRow = Type.Object({ update_id: Type.String() });

/** Those of these updates that were announced before. */
export const findAnnounced = async (tx: Tx, updateIds: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(
    (await rows(tx, UpdateRow)`select update_id from status.announced where update_id = any(${updateIds}::text[])`).map((r) => r.update_id),
  );

/** False when another process announces it. */
export const markAnnounced = async (tx: Tx, org: string, updateId: string): Promise<boolean> =>
  (await run(tx)`
    insert into status.announced (org_id, update_id, at) values (${org}, ${updateId}, kernel.now()) on conflict do nothing`) > 0;

export const forgetAnnounced = (tx: Tx, days: number) =>
  run(tx)`delete from status.announced where at < kernel.now() - make_interval(days => ${days}::int)`;
