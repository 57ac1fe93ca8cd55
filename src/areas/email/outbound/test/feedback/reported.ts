import type { Quarterdeck } from '../../../../../../test/harness/index.ts';
import { sql } from '../../../../../kernel/sql.ts';
import { takeReport } from '../../engine/feedback/index.ts';
import { readReport } from '../../rules/report/index.ts';
import type { Reporter } from '../../rules/report/reporter.ts';

/** The recipient of this address's return path. */
export async function recipientOf({ app }: Quarterdeck, messageId: string, address: string): Promise<number> {
  const { rows } = await app.db.read((tx) =>
    tx.query(sql`select id::int as id from email.recipient where message_id = ${messageId} and folded = ${address.toLowerCase()}`),
  );
  return (rows[0] as { id: number }).id;
}

const verified: Reporter = { domain: 'far.example', by: 'dkim' };

/** As if this mail had come to the return path of a recipient, from a domain that signed it. */
export async function report(
  qd: Quarterdeck,
  messageId: string,
  address: string,
  mail: Buffer,
  { org = qd.owner.orgId, reporter = verified }: { org?: string; reporter?: Reporter } = {},
) {
  const recipientId = await recipientOf(qd, messageId, address);
  return takeReport(qd.app, { org, messageId, recipientId, parsed: readReport(mail), reporter });
}

export const suppressions = async ({ owner }: Quarterdeck): Promise<string[]> =>
  ((await owner.get('/email/suppressions')).body as { suppressions: { address: string; reason: string }[] }).suppressions
    .map(({ address, reason }) => `${address} ${reason}`)
    .sort();
