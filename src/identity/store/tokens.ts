import Type from 'typebox';
import { row, type Tx } from '../../kernel/db.ts';
import type { RoleUse } from '../rules/grants.ts';
import type { Line } from '../engine/line.ts';

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
  /** What it is minted by; absent for what no token mints: a person’s first token, the operator’s. */
  line?: Line;
}

export const insertToken = async (tx: Tx, t: NewToken) =>
  (await row(tx, MadeRow)`
    insert into identity.token (org_id, id, user_id, name, start, hash, scope, ceilings, minters, created_at, expires_at)
    values (${t.org}, kernel.new_id('tok'), ${t.user}, ${t.name}, ${t.start}, ${t.hash}, ${JSON.stringify(t.scope)}, ${JSON.stringify(t.ceilings)},
            ${t.line?.minters ?? []}, kernel.now(),
            least(kernel.now() + make_interval(secs => ${t.expiresIn}), ${t.line?.endsAt ?? null}::timestamptz))
    returning id, name, expires_at`)!;

/** The same token under a new key, for as long again. What it minted keeps its own end. */
export const renewToken = async (tx: Tx, org: string, t: Pick<NewToken, 'start' | 'hash' | 'expiresIn'> & { id: string }) =>
  (await row(tx, MadeRow)`
    update identity.token set start = ${t.start}, hash = ${t.hash}, expires_at = kernel.now() + make_interval(secs => ${t.expiresIn})
     where org_id = ${org} and id = ${t.id} returning id, name, expires_at`)!;
