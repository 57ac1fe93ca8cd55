import { run, type Tx } from '../../../kernel/db/index.ts';

/**
 * Counts one more mail of this hour. False: there were `max` already. The counters of an hour are those of guesses (0001_account.sql), under
 * names of their own; they are deleted with those. The row is locked until the transaction ends, so that concurrent mails count each other.
 */
export const takeMailAllowance = async (tx: Tx, subject: string, max: number): Promise<boolean> =>
  (await run(tx)`
    insert into account.guesses as g (bucket, failures, expires_at)
    select ${`mail ${subject}`}, 1, now + interval '1 hour' from kernel.now() now
        on conflict (bucket) do update
       set failures = case when g.expires_at <= kernel.now() then 1 else g.failures + 1 end,
           expires_at = case when g.expires_at <= kernel.now() then excluded.expires_at else g.expires_at end
     where g.expires_at <= kernel.now() or g.failures < ${max}`) > 0;
