import Type from 'typebox';
import { rows, run, type Tx } from '../../kernel/db/index.ts';

const LinkRow = Type.Object({
  alive: Type.Boolean(),
  expires_at: Type.String(),
  seconds_left: Type.Number(),
  line: Type.Array(Type.String()),
});

/** A token and its minters, as far as they still exist; `line` lists all of them, the token itself last. */
export const lockMinters = (tx: Tx, org: string, tokenId: string) => rows(tx, LinkRow)`
  select m.enabled and m.expires_at > kernel.now() as alive, m.expires_at,
         extract(epoch from m.expires_at - kernel.now())::float8 as seconds_left, t.minters || t.id as line
    from identity.token t join identity.token m on m.org_id = t.org_id and m.id = any(t.minters || t.id)
   where t.org_id = ${org} and t.id = ${tokenId}
   order by m.id for no key update of m`;

export const isMintedBy = async (tx: Tx, org: string, tokenId: string, above: string): Promise<boolean> =>
  (await run(tx)`select 1 from identity.token where org_id = ${org} and id = ${tokenId} and ${above} = any(minters)`) > 0;
