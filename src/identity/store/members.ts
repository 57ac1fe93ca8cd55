import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../kernel/db.ts';

const MemberRow = Type.Object({ id: Type.String(), email: Type.String(), name: Type.String() });
export type Member = Static<typeof MemberRow>;

/** Somebody of the organization, or undefined: not known here, or not any more. */
export const memberOf = (tx: Tx, org: string, userId: string): Promise<Member | undefined> => row(tx, MemberRow)`
  select u.id, u.email, u.name from identity.member m join identity.account u on u.id = m.user_id
   where m.org_id = ${org} and m.user_id = ${userId}`;

export const membersOf = async (tx: Tx, org: string): Promise<ReadonlyMap<string, Member>> =>
  new Map(
    (
      await rows(tx, MemberRow)`
        select u.id, u.email, u.name from identity.member m join identity.account u on u.id = m.user_id where m.org_id = ${org}`
    ).map((member) => [member.id, member]),
  );
