import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import type { PublicTarget } from '../rules/masked-target.ts';
import { PublicTargetRow, storedTarget } from './monitor-row.ts';

const UnsealedRow = Type.Object({ id: Type.String(), target: PublicTargetRow, deleted: Type.Boolean() });
export type UnsealedRow = Static<typeof UnsealedRow>;

/** Monitors that an earlier release wrote. Rows that another transaction has locked are skipped. */
export const lockUnsealed = (tx: Tx, limit: number) => rows(tx, UnsealedRow)`
  select id, target, deleted_at is not null as deleted from uptime.monitor where sealed is null order by id limit ${limit}
     for no key update skip locked`;

/** The monitor is what it was: neither its revision nor the time of its last change moves. */
export const writeSealed = (tx: Tx, monitors: readonly { id: string; target: PublicTarget; sealed: Buffer }[]) => run(tx)`
  update uptime.monitor m set target = s.target, sealed = s.sealed
    from unnest(${monitors.map((m) => m.id)}::text[], ${monitors.map((m) => storedTarget(m.target))}::jsonb[],
                ${monitors.map((m) => m.sealed)}::bytea[]) as s(id, target, sealed)
   where m.id = s.id`;
