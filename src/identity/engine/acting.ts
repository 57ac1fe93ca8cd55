import { type Caches, dropElsewhere } from '../../kernel/cache.ts';
import { type Actor, operator } from '../audit.ts';
import type { Principal } from '../principal.ts';

/** Who acts, for the audit row, and how every process learns what it must forget. An operation's `ctx` is one. */
export interface Acting extends Actor {
  app: { caches: Pick<Caches, 'drop'> };
}

/** Somebody who acts with a token, and gives no more than it holds. */
export interface ActingByToken extends Acting {
  principal: Principal;
}

/** The operator at the command line, who remembers nothing and holds every role. */
export const actingOperator = (org: string): Acting => ({ ...operator(org), app: { caches: { drop: dropElsewhere } } });
