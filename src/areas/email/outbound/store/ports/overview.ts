import Type from 'typebox';
import { row, type Tx } from '../../../../../kernel/db/index.ts';
import { sql, type Visible } from '../../../../../kernel/sql.ts';
import { idTime } from '../../../../../kernel/time.ts';

const CountRow = Type.Object({ n: Type.Integer() });
const failedStates = ['bounced', 'failed'];

/** Sent messages of these hours that bounced or failed, counted up to `most`. Each state, and each visible domain, is read by its own index. */
export const failedMessages = async (tx: Tx, org: string, visible: Visible, since: string, most: number): Promise<number> => {
  const domains = visible === '*' ? sql`(select null) d(id)` : sql`unnest(${[...visible]}::text[]) d(id)`;
  const ofDomain = visible === '*' ? sql`true` : sql`m.domain_id = d.id`;
  return (await row(tx, CountRow)`
    select count(*)::int as n from (
      select 1 from unnest(${failedStates}::text[]) s(state), ${domains}, lateral (
        select 1 from email.message m
         where m.org_id = ${org} and m.state = s.state and m.direction = 'send' and ${ofDomain} and m.id >= ${`msg_${idTime(Date.parse(since))}`}
         limit ${most}) f limit ${most}) n`)!.n;
};
