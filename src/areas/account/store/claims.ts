import { createHash } from 'node:crypto';
import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';

const OwnerRow = Type.Object({ id: Type.String(), email: Type.String(), org_id: Type.String() });
export type UnclaimedOwner = Static<typeof OwnerRow>;

/** The first owner of the first organization, unless that person has signed in before, or could. */
export const unclaimedOwner = (tx: Tx): Promise<UnclaimedOwner | undefined> => row(tx, OwnerRow)`
  select o.* from (
    select u.id, u.email, m.org_id from identity.member m join identity.account u on u.id = m.user_id
     where m.role = 'owner' order by m.org_id, m.joined_at, m.user_id limit 1) o
   where not exists (select from account.one_time_link l where l.user_id = o.id and l.purpose = 'claim' and l.detail = ${claimed})
     and not exists (select from identity.session s where s.user_id = o.id)
     and not exists (select from account.password p where p.user_id = o.id)
     and not exists (select from account.passkey k where k.user_id = o.id)`;

const claimed = 'used';

/** Keeps that a person has signed in by a link: a tombstone among the links, which no secret leads to and which outlives every session. */
export const noteClaim = (tx: Tx, userId: string) => run(tx)`
  insert into account.one_time_link (id, user_id, hash, purpose, detail, created_at, expires_at)
  select kernel.new_id('lnk'), ${userId}, ${createHash('sha256').update(`claimed ${userId}`).digest()}, 'claim', ${claimed}, now, now + interval '1000 years'
    from kernel.now() now on conflict (hash) do nothing`;
