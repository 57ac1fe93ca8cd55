import Type from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';

const MessageRow = Type.Object({ id: Type.String() });

/** Which of these messages were handed in with a key that is revoked. */
export const findRevoked = async (tx: Tx, messages: readonly string[]): Promise<ReadonlySet<string>> =>
  new Set(
    (
      await rows(tx, MessageRow)`
        select m.id from email.message m join email.send_key k on k.id = m.send_key_id
         where m.id = any(${messages}::text[]) and k.revoked_at is not null`
    ).map(({ id }) => id),
  );

const RecipientRow = Type.Object({ id: Type.Integer() });

/** Which of these recipients are on their organization's suppression list. */
export const findSuppressed = async (tx: Tx, recipients: readonly number[]): Promise<ReadonlySet<number>> =>
  new Set(
    (
      await rows(tx, RecipientRow)`
        select r.id from email.recipient r join email.suppression s on s.org_id = r.org_id and s.address = r.folded
         where r.id = any(${recipients}::bigint[])`
    ).map(({ id }) => id),
  );
