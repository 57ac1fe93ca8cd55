import { hash } from 'node:crypto';
import type { Op } from '../../contract/common.ts';
import type { Tx } from '../kernel/db/index.ts';
import { conflict, invalid } from '../kernel/errors.ts';
import { deleteOldAnswer, findAnswer, insertIdempotencyKey, keepAnswer, setLockTimeout } from './store/idempotency.ts';

/** A POST that may be repeated: bound to the principal, the route and the exact body. */
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

interface HandlerAnswer {
  status: number;
  body?: Record<string, unknown>;
  location?: string;
  replayed?: true;
}

/**
 * The first request inserts the row and holds it until its transaction ends. A second one waits for that on the unique key, and then finds
 * either the answer (the first committed) or nothing (it failed, and this one runs).
 */
export async function withIdempotency<T>(tx: Tx, request: IdempotentRequest, spec: Op, work: () => Promise<T>): Promise<T> {
  await deleteOldAnswer(tx, request);
  await setLockTimeout(tx, '1s');
  const fresh = await insertIdempotencyKey(tx, request, request.bodyHash).catch((error: { code?: string }) => {
    if (error.code === '55P03')
      conflict('a request with this Idempotency-Key is still running; wait for its answer', { code: 'idempotency_running' });
    throw error;
  });
  await setLockTimeout(tx, '3s');
  if (!fresh) return (await replay(tx, request)) as T;

  const given = (await work()) as T & HandlerAnswer;
  const answer = spec.secret ? null : JSON.stringify({ body: given.body, location: given.location });
  await keepAnswer(tx, request, { status: given.status, made: madeId(given), answer });
  return given;
}

async function replay(tx: Tx, request: IdempotentRequest): Promise<HandlerAnswer> {
  const kept = await findAnswer(tx, request, request.bodyHash);
  if (!kept?.same)
    return conflict('this Idempotency-Key was used before with another body; use a new key', { code: 'idempotency_mismatch' });
  if (!kept.answer)
    return conflict(`this Idempotency-Key already made ${kept.made ?? 'its resource'}, whose secret is not shown again`, {
      code: 'idempotency_secret',
    });
  return { status: kept.status!, ...(kept.answer as Pick<HandlerAnswer, 'body' | 'location'>), replayed: true };
}

const madeId = ({ body, location }: HandlerAnswer): string | null => {
  const id = body?.id ?? body?.keyId ?? location?.split('/').pop();
  return typeof id === 'string' ? id : null;
};
