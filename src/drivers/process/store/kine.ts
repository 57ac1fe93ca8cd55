import Type, { type Static } from 'typebox';
import { type Connection, openDb, row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { Sql } from '../../../kernel/sql.ts';
import type { DatabaseLogin } from '../rules/database-login.ts';

// A process cluster keeps its objects in a schema of its own, in a table that kine creates there. Each generation of its store is another schema,
// with a role of the same name: a restore fills one beside the one that serves. What a check restores is in a schema that ends in `_check`.

/** Ids are generated here: letters, digits and one underscore. */
function baseName(cluster: string): string {
  if (!/^[a-z]+_[0-9A-Za-z]+$/.test(cluster)) throw new Error('this is no id of a cluster');
  return `cluster_${cluster.replace(/^cls_/, '').toLowerCase()}`;
}

/** The first generation has no number: clusters of earlier releases have it. */
export const schemaOf = (cluster: string, generation = 1): string => `${baseName(cluster)}${generation === 1 ? '' : `_g${generation}`}`;

/** Where the newest backup is restored to be counted. */
export const checkSchemaOf = (cluster: string): string => `${baseName(cluster)}_check`;

/** Names stand in statements as they are. */
function checkedName(schema: string): string {
  if (!new RegExp(kineSchemas.pattern).test(schema)) throw new Error('this is no schema of a cluster');
  return schema;
}

export const quoted = (schema: string): Sql => new Sql([`"${checkedName(schema)}"`], []);

export const makeSchema = (tx: Tx, schema: string) => run(tx)`create schema if not exists ${quoted(schema)}`;

/** Connections: two kines with three each during a change, one for our measurement, and one spare. */
const roleLimits = { connections: 8, tempFiles: '256MB' };

/** A role with the schema's name and full rights in that schema only. `verifier`: the SCRAM verifier of its password. */
export function makeRole(tx: Tx, schema: string, verifier: string) {
  if (!/^SCRAM-SHA-256\$[0-9A-Za-z+/=:$]+$/.test(verifier)) throw new Error('this is no verifier of a password');
  const name = checkedName(schema);
  return run(tx)`${new Sql(
    [
      `do $make$ begin
         if not exists (select from pg_roles where rolname = '${name}') then create role "${name}"; end if;
         alter role "${name}" login connection limit ${roleLimits.connections} password '${verifier}';
         alter role "${name}" set temp_file_limit = '${roleLimits.tempFiles}';
         grant usage, create on schema "${name}" to "${name}";
         if exists (select from pg_tables where schemaname = '${name}' and tablename = 'kine' and tableowner <> '${name}') then
           alter table "${name}".kine owner to "${name}";
         end if;
       end $make$`,
    ],
    [],
  )}`;
}

/** Advisory locks are shared by the whole database: a role that may take them could block migrations, or creations of every organization. Only
 *  functions that are still public are changed; of two servers that do it at once, one succeeds. */
export const revokeAdvisoryLocks = (tx: Tx) =>
  run(tx)`${new Sql(
    [
      `do $close$ declare each regprocedure; begin
         for each in select p.oid from pg_proc p, aclexplode(coalesce(p.proacl, acldefault('f', p.proowner))) a
                      where p.pronamespace = 'pg_catalog'::regnamespace and p.proname ~ '^pg_(try_)?advisory_' and a.grantee = 0 loop
           execute format('revoke execute on function %s from public', each);
         end loop;
       exception when internal_error then null;
       end $close$`,
    ],
    [],
  )}`;

const EndedRow = Type.Object({ name: Type.String() });

/** Terminates sessions of clusters' roles with a transaction that is open longer than kine's ever are. An open transaction keeps vacuum from
 *  removing deleted rows of the whole database, and its locks block our measurements and backups. Returns the roles. */
export const endLongTransactions = async (tx: Tx, seconds: number): Promise<string[]> =>
  (
    await rows(tx, EndedRow)`
      with long as materialized (
        select pid, usename::text as name from pg_stat_activity
         where usename ~ ${kineSchemas.pattern} and datname = current_database()
           and extract(epoch from clock_timestamp() - xact_start) > ${seconds})
      select name from long where pg_terminate_backend(pid)`
  ).map(({ name }) => name);

/** A regular expression for the names of a cluster's schemas and roles, of every generation. */
const namesOf = (cluster: string) => `^${baseName(cluster)}(_g[0-9]+|_check)?$`;

const findSchemas = async (tx: Tx, cluster: string): Promise<string[]> =>
  (
    await rows(tx, NameRow)`
      select nspname::text as name from pg_namespace where nspname ~ ${namesOf(cluster)}
      union select rolname::text from pg_roles where rolname ~ ${namesOf(cluster)} order by 1`
  ).map(({ name }) => name);

/** With its COMMIT the cluster's roles can no longer log in; then `endSessions` terminates their open sessions. */
export async function closeRoles(tx: Tx, cluster: string): Promise<void> {
  for (const name of await findSchemas(tx, cluster)) await onRole(tx, name, (role) => `alter role ${role} nologin`);
}

/** Waits at most 5 s for each session. */
export const endSessions = (tx: Tx, cluster: string) =>
  run(tx)`select pg_terminate_backend(pid, 5000) from pg_stat_activity where usename ~ ${namesOf(cluster)}`;

const onRole = (tx: Tx, name: string, act: (role: string) => string) =>
  run(
    tx,
  )`${new Sql([`do $act$ begin if exists (select from pg_roles where rolname = '${name}') then ${act(`"${name}"`)}; end if; end $act$`], [])}`;

const NameRow = Type.Object({ name: Type.String() });
const BlockedRow = Type.Object({ why: Type.Union([Type.String(), Type.Null()]) });

/** Drops the schemas of a cluster, their roles and everything that these own. Returns the reason if that is impossible at once; then `dropBatch`
 *  is used. */
export async function dropSchemas(tx: Tx, cluster: string): Promise<string | undefined> {
  let why: string | undefined;
  for (const name of await findSchemas(tx, cluster)) why ??= await dropNamed(tx, name);
  return why;
}

async function dropNamed(tx: Tx, name: string): Promise<string | undefined> {
  await run(tx)`${new Sql(
    [
      // More objects than available locks (out_of_memory) must not block the deletion of the cluster.
      `do $drop$ begin
         perform set_config('quarterdeck.left', '', true);
         if exists (select from pg_roles where rolname = '${name}') then drop owned by "${name}" cascade; end if;
         drop schema if exists "${name}" cascade;
         if exists (select from pg_roles where rolname = '${name}') then drop role "${name}"; end if;
       exception when dependent_objects_still_exist or insufficient_privilege or out_of_memory then
         perform set_config('quarterdeck.left', sqlerrm, true);
       end $drop$`,
    ],
    [],
  )}`;
  return (await row(tx, BlockedRow)`select current_setting('quarterdeck.left', true) as why`)?.why || undefined;
}

/** Schemas that no cluster uses, and roles that still own objects in this database: those of deleted clusters that the transaction of the deletion
 *  could not drop, former generations, and what an interrupted restore or check left. */
export const findOrphanedStores = async (tx: Tx): Promise<string[]> =>
  (
    await rows(tx, NameRow)`
      select found.name
        from (select nspname::text as name from pg_namespace
              union select r.rolname::text from pg_roles r
                     where r.rolname ~ ${kineSchemas.pattern} and exists (
                       select from pg_shdepend d where d.refclassid = 'pg_authid'::regclass and d.refobjid = r.oid
                          and d.dbid = (select oid from pg_database where datname = current_database()) limit 1)) found
       where found.name ~ ${kineSchemas.pattern}
         and not exists (
           select from (select id, store, store_generation, 'cluster_' || lower(regexp_replace(id, '^cls_', '')) as base from clusters.cluster) c
            where c.base = regexp_replace(found.name, '_(g[0-9]+|check)$', '')
              and (found.name = ${nameOf('c.base', 'c.store_generation')} and c.store = 'kine'
                -- Requests that had begun before a change end on the store before.
                or exists (select from clusters.store_change s
                            where s.cluster_id = c.id and coalesce(s.ended_at > kernel.now() - interval '2 minutes', true)
                              and found.name in (${nameOf('c.base', 's.generation')}, ${nameOf('c.base', 's.from_generation')}))
                or found.name = c.base || '_check' and exists (
                     select from clusters.backup b where b.cluster_id = c.id and b.check_until > kernel.now())))
       order by 1 limit 20`
  ).map(({ name }) => name);

/** The name of a generation's schema in SQL, as `schemaOf` makes it. */
const nameOf = (base: string, generation: string): Sql =>
  new Sql([`(${base} || case when ${generation} = 1 then '' else '_g' || ${generation} end)`], []);

/** Drops some objects of a role, the newest first, then the rest if that is possible at once. Returns the reason if not. The role cannot log in
 *  from the first batch on. Dropping executes no code of the role. */
export async function dropBatch(tx: Tx, name: string): Promise<string | undefined> {
  await onRole(tx, checkedName(name), (role) => `alter role ${role} nologin`);
  await run(tx)`select pg_terminate_backend(pid, 1000) from pg_stat_activity where usename = ${name}`;
  await run(tx)`${new Sql(
    [
      `do $portion$ declare each record; act text; begin
         for each in select d.classid, d.objid from pg_shdepend d join pg_roles r on r.oid = d.refobjid and d.refclassid = 'pg_authid'::regclass
                      where r.rolname = '${name}' and d.deptype = 'o' and d.dbid = (select oid from pg_database where datname = current_database())
                      order by d.objid desc limit 1000 loop
           if each.classid = 'pg_largeobject'::regclass then perform lo_unlink(each.objid);
           else
             -- One that went with another has no name any more.
             select format('drop %s if exists %s cascade', type, identity) into act from pg_identify_object(each.classid, each.objid, 0)
              where identity is not null;
             if act is not null then execute act; end if;
           end if;
         end loop;
       end $portion$`,
    ],
    [],
  )}`;
  return dropNamed(tx, name);
}

/** Older kines used integer columns. */
const numbers = ['bigint', 'integer'];

/** The tables as kine creates them; kine adds its indexes when it starts. A backup holds them. */
export const kineSchemas = {
  pattern: '^cluster_[0-9a-z]{1,44}(_g[1-9][0-9]{0,6}|_check)?$',
  make: (schema: string) => `
    create schema "${schema}";
    create table "${schema}".kine (id bigserial primary key, name text collate "C", created integer, deleted integer, create_revision bigint,
      prev_revision bigint, lease integer, value bytea, old_value bytea)`,
  table: {
    name: 'kine',
    columns: {
      id: numbers,
      name: ['text', 'character varying'],
      created: ['integer'],
      deleted: ['integer'],
      create_revision: numbers,
      prev_revision: numbers,
      lease: ['integer'],
      value: ['bytea'],
      old_value: ['bytea'],
    },
    key: 'id',
    sequence: 'kine_id_seq',
  },
};

/** Whether the schema has kine's table. */
export const hasKine = async (tx: Tx, schema: string): Promise<boolean> =>
  (await row(tx, Type.Object({ is_there: Type.Boolean() }))`select to_regclass(${`${schema}.kine`}) is not null as is_there`)!.is_there;

const StoreSizeRow = Type.Object({ bytes: Type.Integer(), objects: Type.Integer(), last: Type.Integer() });
export type StoreSize = Static<typeof StoreSizeRow>;

/** Total size and number of objects, including revisions that are not compacted: all, or those after a revision; 0 before kine created its table.
 *  Lengths are read without the values themselves.
 *
 *  Where the cluster has a role, this runs as that role (`asRole`): the role can replace the table, for instance by a view with a function, which
 *  would run with the rights of the session that reads it. */
export async function measureKine(tx: Tx, schema: string, after = 0): Promise<StoreSize> {
  if (!(await hasKine(tx, schema))) return { bytes: 0, objects: 0, last: 0 };
  return (await row(tx, StoreSizeRow)`
    select coalesce(sum(coalesce(octet_length(value), 0) + coalesce(octet_length(old_value), 0) + octet_length(name)), 0)::bigint as bytes,
           (count(distinct name) filter (where deleted = 0))::int as objects, coalesce(max(id), ${after})::bigint as last
      from ${quoted(schema)}.kine where id > ${after}`)!;
}

/** Runs on a connection that logged in as the role. `set role` on a server connection is not enough: code that runs there can reset the role, or
 *  leave settings behind for the next user of the connection. */
export async function asRole<T>(connection: Connection, login: DatabaseLogin, work: (tx: Tx) => Promise<T>): Promise<T> {
  const db = openDb({ connection: { ...connection, ...login }, max: 1 });
  try {
    return await db.read(work);
  } finally {
    await db.end();
  }
}

const OwnedRow = Type.Object({ besides: Type.Integer(), table_bytes: Type.Integer(), is_plain: Type.Boolean() });

/** Bytes on disk that the role owns, from the catalog alone: none of its tables is read. `besides`: all but kine's table, with large objects.
 *  `is_plain`: kine's table, if it exists, is a plain table without row security. */
export async function measureOwned(tx: Tx, name: string): Promise<Static<typeof OwnedRow>> {
  return (await row(tx, OwnedRow)`
    with owned as (
      select pg_total_relation_size(c.oid) as bytes, n.nspname = ${name} and c.relname = 'kine' as is_kine
        from pg_class c join pg_roles r on r.oid = c.relowner join pg_namespace n on n.oid = c.relnamespace
       where r.rolname = ${name} and c.relkind in ('r', 'm')),
    large as (
      select count(*) * 2048 as bytes from pg_largeobject
       where loid in (select m.oid from pg_largeobject_metadata m join pg_roles r on r.oid = m.lomowner where r.rolname = ${name}))
    select (coalesce(sum(bytes) filter (where not is_kine), 0) + (select bytes from large))::bigint as besides,
           coalesce(sum(bytes) filter (where is_kine), 0)::bigint as table_bytes,
           not exists (select from pg_class c join pg_namespace n on n.oid = c.relnamespace
                        where n.nspname = ${name} and c.relname = 'kine' and (c.relkind <> 'r' or c.relrowsecurity)) as is_plain
      from owned`)!;
}

/** Whether there is a schema or a role of this name. */
export const findSchema = async (tx: Tx, name: string): Promise<boolean> =>
  (await row(tx, Type.Object({ is_there: Type.Boolean() }))`
    select exists (select from pg_namespace where nspname = ${name}) or exists (select from pg_roles where rolname = ${name}) as is_there`)!
    .is_there;

const FolderRow = Type.Object({ first: Type.String(), second: Type.String(), keys: Type.Integer() });

/** How many objects are in each folder below /registry: see rules/count-objects.ts. */
export const countFolders = async (tx: Tx, schema: string): Promise<Map<string, number>> => {
  const found = await rows(tx, FolderRow)`
    select first, case when position('.' in first) > 0 then second else '' end as second, count(*)::int as keys
      from (select split_part(name, '/', 3) as first, split_part(name, '/', 4) as second
              from (select distinct on (name) name, deleted from ${quoted(schema)}.kine where starts_with(name, '/registry/') order by name, id desc) k
             where deleted = 0) f
     group by 1, 2 limit 10000`;
  return new Map(found.map(({ first, second, keys }) => [second === '' ? first : `${first}/${second}`, keys]));
};
