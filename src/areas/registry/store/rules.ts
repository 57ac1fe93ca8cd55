import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';
import type { Mode } from './keys.ts';

const RuleRow = Type.Object({
  id: Type.Integer(),
  name: Type.String(),
  issuer: Type.String(),
  audience: Type.String(),
  subject_pattern: Type.String(),
  mode: Type.Unsafe<Mode>({ type: 'string', enum: ['pull', 'readwrite'] }),
  prefixes: Type.Array(Type.String()),
  created_at: Type.String(),
});
export type RuleRow = Static<typeof RuleRow>;
const columns = sql`id, name, issuer, audience, subject_pattern, mode, prefixes, created_at`;

export const rulesOf = (tx: Tx, org: string, registryId: string) => rows(tx, RuleRow)`
  select ${columns} from registry.oidc_rule where org_id = ${org} and registry_id = ${registryId} order by id desc`;

export const countRules = async (tx: Tx, org: string, registryId: string) =>
  (await row(
    tx,
    Type.Object({ count: Type.Integer() }),
  )`select count(*)::int as count from registry.oidc_rule where org_id = ${org} and registry_id = ${registryId}`)!.count;

export type NewRule = Pick<RuleRow, 'name' | 'issuer' | 'audience' | 'subject_pattern' | 'mode' | 'prefixes'>;

export const insertRule = async (tx: Tx, org: string, registryId: string, r: NewRule) =>
  (await row(tx, RuleRow)`
    insert into registry.oidc_rule (org_id, registry_id, name, issuer, audience, subject_pattern, mode, prefixes, created_at)
    values (${org}, ${registryId}, ${r.name}, ${r.issuer}, ${r.audience}, ${r.subject_pattern}, ${r.mode}, ${r.prefixes}, kernel.now())
    returning ${columns}`)!;

export const deleteRule = (tx: Tx, org: string, registryId: string, id: number) => row(tx, RuleRow)`
  delete from registry.oidc_rule where org_id = ${org} and registry_id = ${registryId} and id = ${id} returning ${columns}`;

const CandidateRow = Type.Object({ ...RuleRow.properties, org_id: Type.String(), registry_id: Type.String() });
export type CandidateRow = Static<typeof CandidateRow>;

/** Rules compared per read; other work runs between two reads. */
export const candidatesPerRead = 100;

/** A batch of a registry's rules for an issuer, after this id. */
export const candidates = (tx: Tx, issuer: string, slug: string, after: number) => rows(tx, CandidateRow)`
  select o.id, o.name, o.issuer, o.audience, o.subject_pattern, o.mode, o.prefixes, o.created_at, o.org_id, o.registry_id
    from registry.oidc_rule o join registry.registry g on g.id = o.registry_id
   where o.issuer = ${issuer} and o.id > ${after} and g.slug = ${slug}
   order by o.id limit ${candidatesPerRead}`;

/** Whether any rule trusts this issuer and, if given, one of these audiences. */
export const isTrusted = async (tx: Tx, issuer: string, audiences: string[] | null) =>
  (await row(tx, Type.Object({ yes: Type.Boolean() }))`
    select exists (select from registry.oidc_rule
                    where issuer = ${issuer} and (${audiences}::text[] is null or audience = any(${audiences}::text[]))) as yes`)!.yes;

/**
 * Locks the rule until the transaction ends, so that no key outlives its rule. The registry is locked first, in the order of its deletion.
 */
export async function shareRule(tx: Tx, { id, registry_id }: Pick<CandidateRow, 'id' | 'registry_id'>): Promise<boolean> {
  await run(tx)`select 1 from registry.registry where id = ${registry_id} for key share`;
  return (await run(tx)`select 1 from registry.oidc_rule where id = ${id} for share`) > 0;
}
