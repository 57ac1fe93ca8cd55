import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const Group = Type.Object({ name: Type.String(), serviceIds: Type.Array(Type.String()) });
const StatusPageRow = Type.Object({
  org_id: Type.String(),
  id: Type.String(),
  slug: Type.String(),
  title: Type.String(),
  description: nullable(Type.String()),
  service_ids: Type.Array(Type.String()),
  groups: Type.Array(Group),
  accent: nullable(Type.String()),
  /** Changes with the logo; null without one. */
  logo_version: nullable(Type.String()),
  timezone: Type.String(),
  /** The domain that leads here; null without one. */
  own_host: nullable(Type.String()),
  created_at: Type.String(),
  updated_at: Type.String(),
});
export type StatusPageRow = Static<typeof StatusPageRow>;

// The logo's bytes are read only where they are shown.
const columns = sql`org_id, id, slug, title, description, service_ids, groups, accent, timezone, created_at, updated_at,
  case when logo is not null then left(encode(sha256(logo), 'hex'), 12) end as logo_version,
  (select d.name from status.domain d where d.org_id = page.org_id and d.page_id = page.id and d.state = 'verified') as own_host`;

export const listStatusPages = (tx: Tx, org: string) => rows(tx, StatusPageRow)`
  select ${columns} from status.page where org_id = ${org} order by id desc`;

const CountRow = Type.Object({ n: Type.Integer() });

/** Counts under a lock until the transaction ends, so that two callers cannot both take the last slot. */
export const countStatusPages = async (tx: Tx, org: string): Promise<number> => {
  await run(tx)`select pg_advisory_xact_lock(hashtext('status.pages'), hashtext(${org}))`;
  return (await row(tx, CountRow)`select count(*)::int as n from status.page where org_id = ${org}`)!.n;
};

export const findStatusPage = (tx: Tx, org: string, slug: string) => row(tx, StatusPageRow)`
  select ${columns} from status.page where org_id = ${org} and slug = ${slug}`;

export const lockStatusPage = (tx: Tx, org: string, slug: string) => row(tx, StatusPageRow)`
  select ${columns} from status.page where org_id = ${org} and slug = ${slug} for update`;

export const findStatusPageById = (tx: Tx, org: string, id: string) => row(tx, StatusPageRow)`
  select ${columns} from status.page where org_id = ${org} and id = ${id}`;

/** For public readers: the slug is unique over all organizations. */
export const findPublicStatusPage = (tx: Tx, slug: string) =>
  row(tx, StatusPageRow)`select ${columns} from status.page where slug = ${slug}`;

export const listStatusPagesShowing = (tx: Tx, org: string, serviceId: string) => rows(tx, StatusPageRow)`
  select ${columns} from status.page where org_id = ${org} and ${serviceId} = any(service_ids) order by id`;

const SlugRow = Type.Object({ slug: Type.String() });
/** The slugs of the most recently changed pages. */
export const listSlugs = (tx: Tx, limit: number) => rows(tx, SlugRow)`select slug from status.page order by updated_at desc limit ${limit}`;

const LogoRow = Type.Object({ logo: Type.Unsafe<Buffer>({}), logo_type: Type.String() });
export const findLogo = (tx: Tx, org: string, id: string) => row(tx, LogoRow)`
  select logo, logo_type from status.page where org_id = ${org} and id = ${id} and logo is not null`;

export interface Logo {
  bytes: Buffer;
  type: string;
}

export interface StatusPageFields {
  title: string;
  description: string | null;
  service_ids: readonly string[];
  groups: readonly Static<typeof Group>[];
  accent: string | null;
  timezone: string;
}

/** Undefined if the slug is taken in any organization. */
export const insertStatusPage = (tx: Tx, org: string, slug: string, p: StatusPageFields, logo: Logo | undefined) => row(tx, StatusPageRow)`
  insert into status.page (org_id, id, slug, title, description, service_ids, groups, accent, logo, logo_type, timezone, created_at, updated_at)
  select ${org}, kernel.new_id('stp'), ${slug}, ${p.title}, ${p.description}, ${p.service_ids}::text[], ${JSON.stringify(p.groups)}::jsonb,
         ${p.accent}, ${logo?.bytes ?? null}::bytea, ${logo?.type ?? null}, ${p.timezone}, c.now, c.now
    from (select kernel.now() as now offset 0) c
  on conflict (slug) do nothing returning ${columns}`;

/** `logo` undefined: unchanged. */
export const updateStatusPage = async (
  tx: Tx,
  org: string,
  id: string,
  p: StatusPageFields,
  logo: Logo | null | undefined,
): Promise<StatusPageRow> =>
  (await row(tx, StatusPageRow)`
    update status.page
       set title = ${p.title}, description = ${p.description}, service_ids = ${p.service_ids}::text[],
           groups = ${JSON.stringify(p.groups)}::jsonb, accent = ${p.accent}, timezone = ${p.timezone}, updated_at = kernel.now(),
           logo = case when ${logo !== undefined} then ${logo?.bytes ?? null}::bytea else logo end,
           logo_type = case when ${logo !== undefined} then ${logo?.type ?? null} else logo_type end
     where org_id = ${org} and id = ${id} returning ${columns}`)!;

export const deleteStatusPage = (tx: Tx, org: string, id: string) => run(tx)`delete from status.page where org_id = ${org} and id = ${id}`;
