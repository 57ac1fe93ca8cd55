import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../kernel/db/index.ts';
import { type Sql, sql } from '../../kernel/sql.ts';
import { given, RoleUses } from './principals.ts';

/** How long after signing in, or proving oneself again, dangerous operations are open. */
const freshSeconds = 15 * 60;

const nullable = <T extends Type.TSchema>(schema: T) => Type.Union([schema, Type.Null()]);

const SessionRow = Type.Object({
  id: Type.String(),
  user_id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  methods: Type.Array(Type.String()),
  ends_at: Type.String(),
  ttl_ms: Type.Number(),
  fresh_until: Type.String(),
  fresh_ms: Type.Number(),
  org_id: nullable(Type.String()),
  org_slug: nullable(Type.String()),
  entitlements: nullable(Type.Array(Type.String())),
  requires_second_factor: nullable(Type.Boolean()),
  role: nullable(Type.String()),
  grants: RoleUses,
  custom_roles: Type.Unsafe<Record<string, string[]>>({ type: 'object' }),
  version: Type.Integer(),
});
export type SessionRow = Static<typeof SessionRow>;

export const sessionByHash = (tx: Tx, hash: Buffer, orgSlug: string | null) =>
  findSession(tx, sql`s.hash = ${hash}`, sql`${orgSlug}::text is null or o.slug = ${orgSlug}`);

export const sessionById = (tx: Tx, org: string, id: string) => findSession(tx, sql`s.id = ${id}`, sql`o.id = ${org}`);

/**
 * Everything that a session's rights are computed from, in one statement: a row for each organization that is meant, two at most. One row
 * without an organization: the person belongs to none that is meant. No row: the session is unknown, or over.
 */
const findSession = (tx: Tx, which: Sql, meantOrg: Sql): Promise<SessionRow[]> => rows(tx, SessionRow)`
  select s.id, s.user_id, u.email, u.name, s.methods, s.ends_at,
         (extract(epoch from s.ends_at - kernel.now()) * 1000)::float8 as ttl_ms,
         s.authenticated_at + ${freshSeconds} * interval '1 second' as fresh_until,
         (extract(epoch from s.authenticated_at + ${freshSeconds} * interval '1 second' - kernel.now()) * 1000)::float8 as fresh_ms,
         o.id as org_id, o.slug as org_slug, o.entitlements, o.requires_second_factor, m.role, ${given(sql`m.org_id`, sql`m.user_id`)},
         coalesce((select v.version from identity.rights_version v where v.org_id = m.org_id), 0)::float8 as version
    from identity.session s
    join identity.account u on u.id = s.user_id
    left join (identity.member m join identity.org o on o.id = m.org_id) on m.user_id = s.user_id and (${meantOrg})
   where ${which} and kernel.now() < s.ends_at
   order by m.org_id limit 2`;

export interface NewSession {
  userId: string;
  hash: Buffer;
  methods: readonly string[];
  address: string;
  agent: string;
  /** How long it lives: without use, and at most. */
  idleSeconds: number;
  maxSeconds: number;
}

const InsertedRow = Type.Object({ id: Type.String() });

export const insertSession = async (tx: Tx, s: NewSession): Promise<string> =>
  (await row(tx, InsertedRow)`
    insert into identity.session (id, user_id, hash, methods, address, agent, created_at, authenticated_at, seen_at, expires_at, idle_seconds, ends_at)
    select kernel.new_id('ses'), ${s.userId}, ${s.hash}, ${[...s.methods]}, ${s.address}, ${s.agent}, now, now, now,
           now + make_interval(secs => ${s.maxSeconds}), ${s.idleSeconds}, now + make_interval(secs => least(${s.idleSeconds}::int, ${s.maxSeconds}::int))
      from kernel.now() now
    returning id`)!.id;

const ListedRow = Type.Object({
  id: Type.String(),
  methods: Type.Array(Type.String()),
  address: Type.String(),
  agent: Type.String(),
  created_at: Type.String(),
  seen_at: Type.String(),
  ends_at: Type.String(),
});
export type ListedSession = Static<typeof ListedRow>;

/** The live sessions of a person, newest first. */
export const sessionsOf = (tx: Tx, userId: string): Promise<ListedSession[]> => rows(tx, ListedRow)`
  select s.id, s.methods, s.address, s.agent, s.created_at, s.seen_at, s.ends_at
    from identity.session s where s.user_id = ${userId} and kernel.now() < s.ends_at order by s.id desc limit 1000`;

/** How many live sessions a person has; counts at most `limit`. */
export const countSessions = (tx: Tx, userId: string, limit: number): Promise<number> => run(tx)`
  select 1 from identity.session where user_id = ${userId} and kernel.now() < ends_at limit ${limit}`;

const EndedRow = Type.Object({ id: Type.String() });

/** Ends these sessions of a person; returns those that there were. */
export const deleteSessions = (tx: Tx, userId: string, ids: readonly string[]) => rows(tx, EndedRow)`
  delete from identity.session where user_id = ${userId} and id = any(${[...ids]}) returning id`;

const PersonRow = Type.Object({
  session_id: Type.String(),
  id: Type.String(),
  email: Type.String(),
  name: Type.String(),
  methods: Type.Array(Type.String()),
  is_fresh: Type.Boolean(),
  seen_seconds_ago: Type.Number(),
});
export type SignedIn = Static<typeof PersonRow>;

/** Who is signed in, whatever the organization: for the pages about a person. */
export const personOfSession = (tx: Tx, hash: Buffer) => row(tx, PersonRow)`
  select s.id as session_id, u.id, u.email, u.name, s.methods,
         kernel.now() < s.authenticated_at + ${freshSeconds} * interval '1 second' as is_fresh,
         extract(epoch from kernel.now() - s.seen_at)::float8 as seen_seconds_ago
    from identity.session s join identity.account u on u.id = s.user_id
   where s.hash = ${hash} and kernel.now() < s.ends_at`;

/** The person proved themselves once more, perhaps in a further way. */
export const renewSession = (tx: Tx, id: string, methods: readonly string[]) => run(tx)`
  update identity.session set authenticated_at = kernel.now(),
         methods = array(select distinct m from unnest(methods || ${[...methods]}::text[]) m order by m)
   where id = ${id} and kernel.now() < ends_at`;

/** A way of signing in is gone, and counts no more. */
export const forgetMethods = (tx: Tx, id: string, methods: readonly string[]) => run(tx)`
  update identity.session set methods = array(select m from unnest(methods) m where m <> all(${[...methods]}::text[])) where id = ${id}`;

/** Notes that these were used now. One that is over stays so; one that is being ended is skipped. */
export const touchSessions = (tx: Tx, ids: readonly string[]) => run(tx)`
  update identity.session s set seen_at = kernel.now(), ends_at = least(expires_at, kernel.now() + make_interval(secs => idle_seconds))
    from (select id from identity.session where id = any(${[...ids]}) and kernel.now() < ends_at order by id for no key update skip locked) found
   where s.id = found.id`;

/** Removes sessions that are over, at most `limit`. */
export const forgetSessions = (tx: Tx, limit: number) => run(tx)`
  delete from identity.session where id in (
    select s.id from identity.session s where s.ends_at < kernel.now() order by s.ends_at limit ${limit} for update skip locked)`;

const EndRow = Type.Object({ expires_at: Type.String() });

/** Locks a live session until the credential that it mints is committed. */
export const lockSession = (tx: Tx, id: string) => row(tx, EndRow)`
  select s.expires_at from identity.session s where s.id = ${id} and kernel.now() < s.ends_at for update`;
