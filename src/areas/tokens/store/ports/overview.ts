import Type from 'typebox';
import { rows, type Tx } from '../../../../kernel/db/index.ts';

const EndingRow = Type.Object({ id: Type.String(), name: Type.String(), ends_at: Type.String(), total: Type.Integer() });

/** A member's enabled tokens that end within these days, the soonest first; of one token and its descendants alone with `above`. */
export const tokensEnding = (tx: Tx, org: string, user: string, above: string | undefined, days: number, limit: number) => rows(
  tx,
  EndingRow,
)`
  select id, name, expires_at as ends_at, count(*) over ()::int as total from identity.token
   where org_id = ${org} and user_id = ${user} and enabled and (${above ?? null}::text is null or id = ${above ?? null} or ${above ?? null} = any(minters))
     and expires_at > kernel.now() and expires_at <= kernel.now() + make_interval(days => ${days})
     and expires_at >= created_at + interval '1 day'
   order by expires_at, id limit ${limit}`;
