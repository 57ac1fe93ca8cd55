import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { Sql } from '../../../kernel/sql.ts';
import type { Guests } from '../../area.ts';

// A cluster of Kubernetes' own programs keeps its objects in a schema of its own, in a table that kine makes there.

/** Ids are ours: letters, digits and one underscore. */
export function schemaOf(cluster: string): string {
  if (!/^[a-z]+_[0-9A-Za-z]+$/.test(cluster)) throw new Error('this is no id of a cluster');
  return `cluster_${cluster.replace(/^cls_/, '').toLowerCase()}`;
}

const quoted = (cluster: string) => new Sql([`"${schemaOf(cluster)}"`], []);

export const makeSchema = (tx: Tx, cluster: string) => run(tx)`create schema if not exists ${quoted(cluster)}`;

/** A role of the schema's name, which may do in it what it likes, and has nothing anywhere else. `verifier`: of its password. */
export function makeRole(tx: Tx, cluster: string, verifier: string) {
  if (!/^SCRAM-SHA-256\$[0-9A-Za-z+/=:$]+$/.test(verifier)) throw new Error('this is no verifier of a password');
  const name = schemaOf(cluster);
  return run(tx)`${new Sql(
    [
      `do $make$ begin
         if not exists (select from pg_roles where rolname = '${name}') then create role "${name}"; end if;
         alter role "${name}" login password '${verifier}';
         grant usage, create on schema "${name}" to "${name}";
         if exists (select from pg_tables where schemaname = '${name}' and tablename = 'kine' and tableowner <> '${name}') then
           alter table "${name}".kine owner to "${name}";
         end if;
       end $make$`,
    ],
    [],
  )}`;
}

/** With its role, if it has one and nothing else hangs on it. */
export async function dropSchema(tx: Tx, cluster: string): Promise<void> {
  const name = schemaOf(cluster);
  await run(tx)`drop schema if exists ${quoted(cluster)} cascade`;
  await run(tx)`${new Sql(
    [
      `do $drop$ begin
         if exists (select from pg_roles where rolname = '${name}') then drop role "${name}"; end if;
       exception when dependent_objects_still_exist or insufficient_privilege then null;
       end $drop$`,
    ],
    [],
  )}`;
}

/** As kine makes them; it adds its indexes by itself when it starts. */
export const kineSchemas: Guests = {
  pattern: '^cluster_[0-9a-z]{1,54}$',
  make: (schema) => `
    create schema "${schema}";
    create table "${schema}".kine (id bigserial primary key, name text collate "C", created integer, deleted integer, create_revision bigint,
      prev_revision bigint, lease integer, value bytea, old_value bytea)`,
};

const WeightRow = Type.Object({ bytes: Type.Integer(), objects: Type.Integer(), last: Type.Integer() });

/** How much its objects are together, with the revisions that are not compacted yet, and how many there are: all, or those after a revision; 0
 *  before kine made its table. Lengths are read without the values themselves. */
export async function weighSchema(tx: Tx, cluster: string, after = 0): Promise<Static<typeof WeightRow>> {
  const made = await row(
    tx,
    Type.Object({ is_there: Type.Boolean() }),
  )`select to_regclass(${`${schemaOf(cluster)}.kine`}) is not null as is_there`;
  if (!made?.is_there) return { bytes: 0, objects: 0, last: 0 };
  return (await row(tx, WeightRow)`
    select coalesce(sum(coalesce(octet_length(value), 0) + coalesce(octet_length(old_value), 0) + octet_length(name)), 0)::bigint as bytes,
           (count(distinct name) filter (where deleted = 0))::int as objects, coalesce(max(id), ${after})::bigint as last
      from ${quoted(cluster)}.kine where id > ${after}`)!;
}
