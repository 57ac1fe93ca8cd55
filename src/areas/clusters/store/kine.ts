import Type from 'typebox';
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
export const dropSchema = (tx: Tx, cluster: string) => run(tx)`drop schema if exists ${quoted(cluster)} cascade`;

/** As kine makes them; it adds its indexes by itself when it starts. */
export const kineSchemas: Guests = {
  pattern: '^cluster_[0-9a-z]{1,54}$',
  make: (schema) => `
    create schema "${schema}";
    create table "${schema}".kine (id bigserial primary key, name text collate "C", created integer, deleted integer, create_revision bigint,
      prev_revision bigint, lease integer, value bytea, old_value bytea)`,
};

const SizeRow = Type.Object({ bytes: Type.Integer(), objects: Type.Integer() });

/** What it takes on the disk, indexes and old revisions too; and about how many rows it has, as the planner believes. */
export const sizeOfSchema = async (tx: Tx, cluster: string) =>
  (await row(tx, SizeRow)`
    select coalesce(sum(pg_total_relation_size(c.oid)), 0)::bigint as bytes, coalesce(max(c.reltuples) filter (where c.relname = 'kine'), 0)::int as objects
      from pg_class c join pg_namespace n on n.oid = c.relnamespace where n.nspname = ${schemaOf(cluster)} and c.relkind = 'r'`)!;
