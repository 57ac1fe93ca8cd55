import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../../kernel/db/index.ts';
import { hint } from '../../../../kernel/jobs/index.ts';

const OwnDomainRow = Type.Object({ id: Type.String(), name: Type.String() });
export type OwnDomainRow = Static<typeof OwnDomainRow>;

/** The verified domain of the product's own sender, of any organization. */
export const findOwnDomain = (tx: Tx, name: string): Promise<OwnDomainRow | undefined> =>
  row(tx, OwnDomainRow)`select id, name from email.domain where name = ${name} and send_state = 'verified'`;

const IdRow = Type.Object({ id: Type.Integer() });

/** The return path needs the recipient id before its row exists. */
export const nextRecipientId = async (tx: Tx): Promise<number> =>
  (await row(tx, IdRow)`select nextval(pg_get_serial_sequence('email.recipient', 'id'))::bigint as id`)!.id;

const MessageIdRow = Type.Object({ id: Type.String() });

/** The message of an earlier attempt with the same key. */
export const findAttempted = async (tx: Tx, org: string, key: string): Promise<string | undefined> =>
  (await row(tx, MessageIdRow)`select message_ids[1] as id from email.submission where org_id = ${org} and key = ${key}`)?.id;

export interface OwnAttempt {
  org: string;
  key: string;
  /** Of an earlier attempt, or new. */
  messageId: string;
  domainId: string;
  recipientId: number;
  sender: string;
  address: string;
  folded: string;
  subject: string;
  headerId: string;
  bytes: number;
  state: 'delivered' | 'sent' | 'bounced' | 'deferred';
  error: string | null;
  bounceType: string | null;
  detail: Record<string, unknown>;
}

/** Records one attempt. The first creates a message, which later attempts update. Its recipients are done, so the queue never claims them. */
export async function recordAttempt(tx: Tx, a: OwnAttempt): Promise<void> {
  hint(tx, a.org, 'email.message');
  const known = await findAttempted(tx, a.org, a.key);
  const id = known ?? a.messageId;
  if (known === undefined) {
    await run(tx)`
      insert into email.message (org_id, id, direction, state, state_at, created_at, door, domain_id, sender, recipients, copies, subject, message_id,
                                 body_offset, body_bytes, header_bytes, body_hash)
      values (${a.org}, ${id}, 'send', ${a.state}, kernel.now(), kernel.now(), 'relay', ${a.domainId}, ${a.sender}, ${[a.address]}, '{}', ${a.subject},
              ${a.headerId}, 0, ${a.bytes}, 0, '')`;
    await run(tx)`
      insert into email.submission (org_id, key, fingerprint, message_ids, created_at) values (${a.org}, ${a.key}, '', ${[id]}, kernel.now())
          on conflict (org_id, key) do update set message_ids = excluded.message_ids`;
  }
  await run(tx)`
    insert into email.recipient (id, org_id, message_id, address, folded, state, state_at, last_error, run_at, attempts, done_at)
    overriding system value
    values (${a.recipientId}, ${a.org}, ${id}, ${a.address}, ${a.folded}, ${a.state}, kernel.now(), ${a.error}, kernel.now(), 1, kernel.now())`;
  await run(tx)`
    update email.message set state = ${a.state}, state_at = kernel.now(), last_error = ${a.error},
           sent_at = coalesce(sent_at, case when ${a.state} in ('delivered', 'sent') then kernel.now() end)
     where id = ${id}`;
  if (a.state === 'deferred') return;
  await run(tx)`
    insert into email.event (message_id, org_id, kind, bounce_type, recipient, detail, occurred_at)
    values (${id}, ${a.org}, ${a.state}, ${a.bounceType}, ${a.address}, ${a.detail}, kernel.now())`;
}
