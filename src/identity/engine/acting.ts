import { type Caches, notifyDrop } from '../../kernel/cache.ts';
import { type Actor, operator } from '../audit.ts';
import type { Principal } from '../principal.ts';

/** The actor for the audit row, and the caches to invalidate in every process. An operation's `ctx` is one. */
export interface Acting extends Actor {
  app: { caches: Pick<Caches, 'drop'> };
}

/** An actor with a token, who gives no more than the token holds. */
export interface ActingByToken extends Acting {
  principal: Principal;
}

/** The operator at the command line, who has no caches and holds every role. */
export const actingOperator = (org: string): Acting => ({ ...operator(org), app: { caches: { drop: notifyDrop } } });
