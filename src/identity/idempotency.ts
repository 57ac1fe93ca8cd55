import { hash } from 'node:crypto';
import Type from 'typebox';
import type { Op } from '../../contract/common.ts';
import { row, run, type Tx } from '../kernel/db.ts';
import { conflict, invalid } from '../kernel/errors.ts';

/** A POST that may be repeated: bound to who asks, to the route, and to the exact body. */
export interface IdempotentRequest {
  principal: string;
  route: string;
  key: string;
  bodyHash: Buffer;
}

export function idempotentRequest(principal: string, route: string, key: string, body: unknown): IdempotentRequest {
  if (!/^[\x21-\x7e]{1,255}$/.test(key)) invalid('the Idempotency-Key must be 1 to 255 visible ASCII characters');
  return { principal, route, key, bodyHash: hash('sha256', JSON.stringify(body ?? null), 'buffer') };
}

interface Given {
  status: number;
  body?: Record<string, unknown>;
  location?: string;
  replayed?: true;
}

const KeptRow = Type.Object({
  same: Type.Boolean(),
  status: Type.Union([Type.Integer(), Type.Null()]),
  answer: Type.Unknown(),
  made: Type.Union([Type.String(), Type.Null()]),
});

/**
 * The first caller inserts the row and keeps it locked until its transaction ends; a second one waits for that on the unique
 * key, and then finds either the answer (it committed) or nothing (it failed, and this one runs instead).
 */
export async function remembered<T>(tx: Tx, request: IdempotentRequest, spec: Op, work: () => Promise<T>): Promise<T> {
  const { principal, route, key, bodyHash } = request;
  await run(tx)`delete from kernel.idempotency
                 where principal = ${principal} and route = ${route} and key = ${key} and created_at < kernel.now() - interval '24 hours'`;
  await run(tx)`set local lock_timeout = '1s'`;
  const fresh = await run(tx)`insert into kernel.idempotency (principal, route, key, body_hash, created_at)
                              values (${principal}, ${route}, ${key}, ${bodyHash}, kernel.now()) on conflict do nothing`.catch(
    (error: { code?: string }) => {
      if (error.code === '55P03')
        conflict('a request with this Idempotency-Key is still running; wait for its answer', { code: 'idempotency_running' });
      throw error;
    },
  );
  await run(tx)`set local lock_timeout = '3s'`;
  if (!fresh) return (await replay(tx, request)) as T;

  const given = (await work()) as T & Given;
  await run(tx)`update kernel.idempotency
                   set status = ${given.status}, made = ${madeId(given)},
                       answer = ${spec.secret ? null : JSON.stringify({ body: given.body, location: given.location })}
                 where principal = ${principal} and route = ${route} and key = ${key}`;
  return given;
}

async function replay(tx: Tx, { principal, route, key, bodyHash }: IdempotentRequest): Promise<Given> {
  const kept = await row(tx, KeptRow)`select body_hash = ${bodyHash} as same, status, answer, made from kernel.idempotency
                                       where principal = ${principal} and route = ${route} and key = ${key}`;
  if (!kept?.same)
    return conflict('this Idempotency-Key was used before with another body; use a new key', { code: 'idempotency_mismatch' });
  if (!kept.answer)
    return conflict(`this Idempotency-Key already made ${kept.made ?? 'its resource'}, whose secret is not shown again`, {
      code: 'idempotency_secret',
    });
  return { status: kept.status!, ...(kept.answer as Pick<Given, 'body' | 'location'>), replayed: true };
}

const madeId = ({ body, location }: Given): string | null => {
  const id = body?.id ?? body?.keyId ?? location?.split('/').pop();
  return typeof id === 'string' ? id : null;
};
