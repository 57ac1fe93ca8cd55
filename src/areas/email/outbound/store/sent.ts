import Type, { type Static } from 'typebox';
import { row, type Tx } from '../../../../kernel/db/index.ts';
import { sql } from '../../../../kernel/sql.ts';

const SentRow = Type.Object({
  id: Type.String(),
  state: Type.String(),
  domain_id: Type.String(),
  sender: Type.String(),
  recipients: Type.Array(Type.String()),
  copies: Type.Array(Type.String()),
  subject: Type.Union([Type.String(), Type.Null()]),
  message_id: Type.String(),
  last_error: Type.Union([Type.String(), Type.Null()]),
  created_at: Type.String(),
  scheduled_at: Type.Union([Type.String(), Type.Null()]),
  is_ahead: Type.Boolean(),
});
export type SentRow = Static<typeof SentRow>;

const columns = sql`id, state, domain_id, sender, recipients, copies, subject, message_id, last_error, created_at, scheduled_at,
         coalesce(scheduled_at > kernel.now(), false) as is_ahead`;
/** The product's own mail is not visible to send keys. */
const isSubmittedMail = sql`direction = 'send' and door <> 'relay' and created_at > kernel.now() - interval '90 days'`;

/** A message that a program of this organization submitted, for 90 days. */
export const findSent = (tx: Tx, org: string, id: string): Promise<SentRow | undefined> => row(tx, SentRow)`
  select ${columns} from email.message where org_id = ${org} and id = ${id} and ${isSubmittedMail}`;

/** The same, locked until the transaction ends. */
export const lockSent = (tx: Tx, org: string, id: string): Promise<SentRow | undefined> => row(tx, SentRow)`
  select ${columns} from email.message where org_id = ${org} and id = ${id} and ${isSubmittedMail} for update`;
