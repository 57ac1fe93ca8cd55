import Type, { type Static } from 'typebox';
import { rows, run, type Tx } from '../../../kernel/db/index.ts';
import { hint } from '../../../kernel/jobs/index.ts';

const MintedRow = Type.Object({ id: Type.String(), name: Type.String() });
export type Minted = Static<typeof MintedRow>;

/** A token and its descendants, in the order in which all transactions lock tokens. */
export const lockMinted = (tx: Tx, org: string, user: string, id: string): Promise<Minted[]> => rows(tx, MintedRow)`
  select id, name from identity.token where org_id = ${org} and user_id = ${user} and (id = ${id} or ${id} = any(minters))
   order by id for update`;

export function deleteTokens(tx: Tx, org: string, ids: readonly string[]) {
  hint(tx, org, 'tokens.token');
  return run(tx)`delete from identity.token where org_id = ${org} and id = any(${ids})`;
}
