import Type from 'typebox';
import { rows, run, type Tx } from '../../../../kernel/db/index.ts';

const IdRow = Type.Object({ id: Type.String() });

/** Locks a batch of unfinished messages of a domain. */
export const lockUnfinished = async (tx: Tx, org: string, domainId: string, limit: number): Promise<string[]> =>
  (
    await rows(tx, IdRow)`
      select id from email.message
       where org_id = ${org} and state in ('queued', 'sending', 'deferred') and domain_id = ${domainId}
       order by id limit ${limit} for update`
  ).map(({ id }) => id);

const FailedRow = Type.Object({ message_id: Type.String(), address: Type.String() });

/** Also removes leases, so a process that holds one discards its outcome. */
export const failRecipients = (tx: Tx, org: string, messageIds: readonly string[], why: string) => rows(tx, FailedRow)`
  update email.recipient set state = 'failed', state_at = c.now, last_error = ${why}, done_at = c.now, lease = null, lease_until = null
    from (select kernel.now() as now offset 0) c
   where org_id = ${org} and message_id = any(${messageIds}::text[]) and done_at is null
  returning message_id, address`;

/** Sets the worst outcome of the recipients, all of which are done. */
export const failMessages = (tx: Tx, org: string, messageIds: readonly string[], why: string) => run(tx)`
  update email.message m
     set state = case when exists (select from email.recipient r where r.message_id = m.id and r.state = 'complained') then 'complained'
                      when exists (select from email.recipient r where r.message_id = m.id and r.state = 'bounced') then 'bounced'
                      else 'failed' end,
         state_at = c.now, last_error = ${why}
    from (select kernel.now() as now offset 0) c
   where m.org_id = ${org} and m.id = any(${messageIds}::text[])`;
