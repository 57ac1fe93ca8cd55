import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { type Pagination, withinListBytes } from '../../../kernel/pagination.ts';
import { sql } from '../../../kernel/sql.ts';

const GrantRow = Type.Object({
  id: Type.String(),
  user_id: Type.String(),
  role: Type.String(),
  resource_ids: Type.Array(Type.String()),
  created_at: Type.String(),
});
export type GrantRow = Static<typeof GrantRow>;

/** `is_beyond`: without its resources, see `maxListBytes`. */
const ListedRow = Type.Object({ ...GrantRow.properties, is_beyond: Type.Boolean() });

const columns = sql`id, user_id, role, resource_ids, created_at`;

/** Grants of the organization, or of one member. Two statements, so that each can use its index. */
export const listGrants = (tx: Tx, org: string, subject: string | null, { limit, after }: Pagination) => {
  const whose = subject === null ? sql`` : sql` and user_id = ${subject}`;
  return rows(tx, ListedRow)`
    select id, user_id, role, case when is_beyond then '{}' else resource_ids end as resource_ids, created_at, is_beyond
      from ${withinListBytes(
        sql`resource_ids`,
        sql`select * from identity.role_grant
             where org_id = ${org}${whose} and (${after}::text is null or id < ${after}) order by id desc limit ${limit + 1}`,
      )} g where not is_far order by id desc`;
};

export const countGrantsOfMember = (tx: Tx, org: string, user: string): Promise<number> =>
  run(tx)`select 1 from identity.role_grant where org_id = ${org} and user_id = ${user}`;

export const countGrantsOf = (tx: Tx, org: string, role: string): Promise<number> =>
  run(tx)`select 1 from identity.role_grant where org_id = ${org} and role = ${role}`;

export const findGrant = (tx: Tx, org: string, id: string) =>
  row(tx, GrantRow)`select ${columns} from identity.role_grant where org_id = ${org} and id = ${id}`;

export const lockGrant = (tx: Tx, org: string, id: string) => row(tx, GrantRow)`
  select ${columns} from identity.role_grant where org_id = ${org} and id = ${id} for update`;

/** Undefined when the member holds the role this way already. */
export const insertGrant = (tx: Tx, org: string, g: { subject: string; role: string; resourceIds: string[] }) => row(tx, GrantRow)`
  insert into identity.role_grant (org_id, id, user_id, role, resource_ids, created_at)
  values (${org}, kernel.new_id('grt'), ${g.subject}, ${g.role}, ${g.resourceIds}, kernel.now())
  on conflict do nothing returning ${columns}`;

export const deleteGrant = (tx: Tx, org: string, id: string) =>
  run(tx)`delete from identity.role_grant where org_id = ${org} and id = ${id}`;
