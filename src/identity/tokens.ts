import Type from 'typebox';
import { row, type Tx } from '../kernel/db.ts';
import type { RoleUse } from './grants.ts';

const MadeRow = Type.Object({ id: Type.String(), name: Type.String(), expires_at: Type.String() });

export interface NewToken {
  org: string;
  user: string;
  name: string;
  start: string;
  hash: Buffer;
  scope: RoleUse[];
  ceilings: readonly (readonly RoleUse[])[];
  expiresIn: number;
}

export const insertToken = async (tx: Tx, t: NewToken) =>
  (await row(tx, MadeRow)`
    insert into identity.token (org_id, id, user_id, name, start, hash, scope, ceilings, created_at, expires_at)
    values (${t.org}, kernel.new_id('tok'), ${t.user}, ${t.name}, ${t.start}, ${t.hash}, ${JSON.stringify(t.scope)}, ${JSON.stringify(t.ceilings)},
            kernel.now(), kernel.now() + make_interval(secs => ${t.expiresIn}))
    returning id, name, expires_at`)!;
