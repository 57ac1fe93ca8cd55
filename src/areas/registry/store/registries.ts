import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../kernel/sql.ts';
import type { Retention } from '../rules/retention.ts';

const RegistryRow = Type.Object({
  id: Type.String(),
  slug: Type.String(),
  display_name: Type.String(),
  region: Type.String(),
  quota_bytes: Type.Integer(),
  used_bytes: Type.Integer(),
  immutable_tags: Type.Array(Type.String()),
  retention: Type.Unsafe<Retention>({ type: 'object' }),
  created_at: Type.String(),
});
export type RegistryRow = Static<typeof RegistryRow>;

const columns = sql`id, slug, display_name, region, quota_bytes, used_bytes, immutable_tags, retention, created_at`;

export const registriesOf = (tx: Tx, org: string, visible: Visible) => rows(tx, RegistryRow)`
  select ${columns} from registry.registry where org_id = ${org} and ${isVisible(visible, sql`id`)} order by id desc`;

export const registryBySlug = (tx: Tx, org: string, slug: string) => row(tx, RegistryRow)`
  select ${columns} from registry.registry where org_id = ${org} and slug = ${slug}`;

/** For transactions that add something to the registry: it cannot be deleted meanwhile. */
export const shareRegistry = (tx: Tx, org: string, slug: string) => row(tx, RegistryRow)`
  select ${columns} from registry.registry where org_id = ${org} and slug = ${slug} for key share`;

export const shareRegistries = (tx: Tx, org: string, visible: Visible) => rows(tx, RegistryRow)`
  select ${columns} from registry.registry where org_id = ${org} and ${isVisible(visible, sql`id`)} order by id desc for key share`;

export const lockRegistry = (tx: Tx, org: string, slug: string) => row(tx, RegistryRow)`
  select ${columns} from registry.registry where org_id = ${org} and slug = ${slug} for update`;

export interface NewRegistry {
  slug: string;
  displayName: string;
  region: string;
  quotaBytes: number;
}

/** Undefined: another registry, of any organization, has the slug. */
export const insertRegistry = (tx: Tx, org: string, r: NewRegistry) => row(tx, RegistryRow)`
  insert into registry.registry (org_id, id, slug, display_name, region, quota_bytes, created_at)
  values (${org}, kernel.new_id('reg'), ${r.slug}, ${r.displayName}, ${r.region}, ${r.quotaBytes}, kernel.now())
  on conflict (slug) do nothing returning ${columns}`;

export const updateRegistry = async (tx: Tx, org: string, r: Pick<RegistryRow, 'id' | 'display_name' | 'immutable_tags' | 'retention'>) =>
  (await row(tx, RegistryRow)`
    update registry.registry set display_name = ${r.display_name}, immutable_tags = ${r.immutable_tags}, retention = ${JSON.stringify(r.retention)}
     where org_id = ${org} and id = ${r.id} returning ${columns}`)!;

export const deleteRegistry = (tx: Tx, org: string, id: string) =>
  run(tx)`delete from registry.registry where org_id = ${org} and id = ${id}`;

export const repositoryCount = async (tx: Tx, registryId: string) =>
  (await row(
    tx,
    Type.Object({ count: Type.Integer() }),
  )`select count(*)::int as count from registry.repository where registry_id = ${registryId}`)!.count;
