import Type from 'typebox';
import { isUniqueViolation, row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const MemberRow = Type.Object({ id: Type.String(), email: Type.String(), slugs: Type.Array(Type.String()) });

/** Accounts of an address that belong to an organization, with its slugs: the one that the operator made first. Links may have made more. */
export const membersOfAddress = (tx: Tx, email: string, limit: number) => rows(tx, MemberRow)`
  select a.id, a.email, array(select o.slug from identity.member m join identity.org o on o.id = m.org_id where m.user_id = a.id order by 1 limit 20) as slugs
    from identity.account a where lower(a.email) = lower(${email}) and exists (select from identity.member m where m.user_id = a.id)
   order by a.vouched desc, a.id limit ${limit}`;

const FoundRow = Type.Object({ found: Type.Boolean() });

/**
 * Whether a person cannot have the address: it is that of an account in use which the operator made, or of another member of an organization
 * of theirs. An account elsewhere that a link made blocks no address.
 */
export const isAddressTaken = async (tx: Tx, userId: string, email: string): Promise<boolean> =>
  (await row(tx, FoundRow)`
    select exists (
      select from identity.account a join identity.member m on m.user_id = a.id
       where lower(a.email) = lower(${email}) and a.id <> ${userId}
         and (a.vouched or exists (select from identity.member own where own.org_id = m.org_id and own.user_id = ${userId}))) as found`)!
    .found;

/** False: another account that the operator made got the address at the same moment. */
export async function updateAddress(tx: Tx, userId: string, email: string): Promise<boolean> {
  try {
    return (await run(tx)`update identity.account set email = ${email} where id = ${userId}`) > 0;
  } catch (error) {
    if (isUniqueViolation(error)) return false;
    throw error;
  }
}

export const updateName = (tx: Tx, userId: string, name: string) =>
  run(tx)`update identity.account set name = ${name} where id = ${userId}`;

export const isOwnerSomewhere = async (tx: Tx, userId: string): Promise<boolean> =>
  (await row(tx, FoundRow)`select exists (select from identity.member where user_id = ${userId} and role = 'owner') as found`)!.found;
