import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../kernel/db/index.ts';

/** The principal, the route and the client's Idempotency-Key. */
export interface IdempotencyKey {
  principal: string;
  route: string;
  key: string;
}

export const deleteOldAnswer = (tx: Tx, { principal, route, key }: IdempotencyKey) => run(tx)`
  delete from kernel.idempotency
   where principal = ${principal} and route = ${route} and key = ${key} and created_at < kernel.now() - interval '24 hours'`;

/** How long this transaction waits for a lock. */
export const setLockTimeout = (tx: Tx, time: '1s' | '3s') => run(tx)`select set_config('lock_timeout', ${time}, true)`;

/** False: the key was used before. Waits for a concurrent request with the same key. */
export const insertIdempotencyKey = async (tx: Tx, { principal, route, key }: IdempotencyKey, bodyHash: Buffer): Promise<boolean> =>
  (await run(tx)`
    insert into kernel.idempotency (principal, route, key, body_hash, created_at)
    values (${principal}, ${route}, ${key}, ${bodyHash}, kernel.now()) on conflict do nothing`) > 0;

export interface KeptAnswer {
  status: number;
  made: string | null;
  answer: string | null;
}

export const keepAnswer = (tx: Tx, { principal, route, key }: IdempotencyKey, a: KeptAnswer) => run(tx)`
  update kernel.idempotency set status = ${a.status}, made = ${a.made}, answer = ${a.answer}
   where principal = ${principal} and route = ${route} and key = ${key}`;

const KeptRow = Type.Object({
  same: Type.Boolean(),
  status: Type.Union([Type.Integer(), Type.Null()]),
  answer: Type.Unknown(),
  made: Type.Union([Type.String(), Type.Null()]),
});
export type KeptRow = Static<typeof KeptRow>;

/** `same`: the stored request had the same body. */
export const findAnswer = (tx: Tx, { principal, route, key }: IdempotencyKey, bodyHash: Buffer): Promise<KeptRow | undefined> => row(
  tx,
  KeptRow,
)`
  select body_hash = ${bodyHash} as same, status, answer, made from kernel.idempotency
   where principal = ${principal} and route = ${route} and key = ${key}`;
