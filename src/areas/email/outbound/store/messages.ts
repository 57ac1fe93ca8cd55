import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../../kernel/db/index.ts';
import { isVisible, type Sql, sql, type Visible } from '../../../../kernel/sql.ts';
import { idTime } from '../../../../kernel/time.ts';

const orNull = <S extends Type.TSchema>(schema: S) => Type.Union([schema, Type.Null()]);

const MessageRow = Type.Object({
  id: Type.String(),
  direction: Type.Enum(['send', 'receive'] as const),
  state: Type.String(),
  sender: Type.String(),
  recipients: Type.Array(Type.String()),
  copies: Type.Array(Type.String()),
  subject: orNull(Type.String()),
  body_bytes: Type.Integer(),
  door: Type.String(),
  domain_id: Type.String(),
  last_error: orNull(Type.String()),
  created_at: Type.String(),
  sent_at: orNull(Type.String()),
  state_at: Type.String(),
});
export type MessageRow = Static<typeof MessageRow>;

const columns = sql`m.id, m.direction, m.state, m.sender, m.recipients, m.copies, m.subject, m.body_bytes, m.door, m.domain_id, m.last_error, m.created_at, m.sent_at, m.state_at`;

/** Older messages are hidden even before they are deleted. */
const isLogged = sql`m.created_at > kernel.now() - interval '90 days'`;

export interface MessageFilters {
  direction?: string;
  state?: string;
  domainId?: string;
  /** In lower case. */
  to?: string;
  since?: string;
}

interface Page {
  before: string | null;
  limit: number;
}

/** Newest first, starting before `before`. Every filter uses an index; `to` together with another filter reads all messages to that address. */
export const listMessageRows = (tx: Tx, org: string, visible: Visible, filters: MessageFilters, slice: Page): Promise<MessageRow[]> =>
  rows(tx, MessageRow)`${loggedMessages(org, visible, filters, slice)}`;

/** The same as a piece of SQL. */
export const loggedMessages = (org: string, visible: Visible, filters: MessageFilters, slice: Page): Sql => {
  const { direction, state, domainId, to, since } = filters;
  return sql`
    select ${columns}
      from (${to === undefined ? idsByFilters(org, visible, filters, slice) : idsByAddress(org, visible, { ...filters, to }, slice)}) i
      join email.message m on m.id = i.id
     where m.org_id = ${org} and ${isVisible(visible, sql`m.domain_id`)} and ${isLogged}
       and ${direction === undefined ? all : sql`m.direction = ${direction}`}
       and ${state === undefined ? all : sql`m.state = ${state}`}
       and ${domainId === undefined ? all : sql`m.domain_id = ${domainId}`}
       and ${since === undefined ? all : sql`m.created_at >= ${since}::timestamptz`}
     order by m.id desc limit ${slice.limit}`;
};
const all: Sql = sql`true`;

const everyState = ['queued', 'sending', 'deferred', 'sent', 'delivered', 'bounced', 'complained', 'suppressed', 'failed', 'received'];
const everyDirection = ['send', 'receive'];

/** The newest ids of each matching state, direction and domain: one index scan each, up to the limit. */
function idsByFilters(org: string, visible: Visible, { direction, state, domainId, since }: MessageFilters, { before, limit }: Page): Sql {
  const domains = domainId !== undefined ? [domainId] : visible === '*' ? undefined : [...visible];
  const ofDomains = domains === undefined ? sql`` : sql`cross join unnest(${domains}::text[]) o(domain_id)`;
  return sql`
    select newest.id
      from unnest(${state === undefined ? everyState : [state]}::text[]) s(state)
     cross join unnest(${direction === undefined ? everyDirection : [direction]}::text[]) d(direction) ${ofDomains}
     cross join lateral (
           select e.id from email.message e
            where e.org_id = ${org} and e.state = s.state and e.direction = d.direction and ${domains === undefined ? all : sql`e.domain_id = o.domain_id`}
              and ${isInPage(sql`e.id`, since, before)}
            order by e.id desc limit ${limit}) newest
     order by newest.id desc limit ${limit}`;
}

/** Ids of messages to an address. With another filter all of them are read. */
function idsByAddress(org: string, visible: Visible, f: MessageFilters & { to: string }, { before, limit }: Page): Sql {
  const isNarrowed = visible !== '*' || f.domainId !== undefined || f.state !== undefined || f.direction !== undefined;
  const newest = (table: Sql) => sql`
    (select a.message_id as id from ${table} a where a.org_id = ${org} and a.folded = ${f.to} and ${isInPage(sql`a.message_id`, f.since, before)}
      order by a.message_id desc limit ${isNarrowed ? null : limit}::bigint)`;
  return sql`${newest(sql`email.recipient`)} union ${newest(sql`email.received_address`)}`;
}

/** Ids begin with the time, so the id index bounds the time range too. */
const isInPage = (id: Sql, since: string | undefined, before: string | null): Sql =>
  sql`${since === undefined ? all : sql`${id} >= ${idAt(since)}`} and ${before === null ? all : sql`${id} < ${before}`}`;

/** The smallest id of one minute before this time. */
const idAt = (since: string): string => `msg_${idTime(Date.parse(since) - 60_000)}`;

export const findMessage = (tx: Tx, org: string, id: string): Promise<MessageRow | undefined> =>
  row(tx, MessageRow)`select ${columns} from email.message m where m.org_id = ${org} and m.id = ${id} and ${isLogged}`;

const EventRow = Type.Object({
  kind: Type.Enum(['sent', 'delivered', 'bounced', 'complained', 'deferred'] as const),
  bounce_type: orNull(Type.String()),
  recipient: orNull(Type.String()),
  detail: Type.Unsafe<Record<string, unknown> | null>({}),
  occurred_at: Type.String(),
});
export type EventRow = Static<typeof EventRow>;

export const listEvents = (tx: Tx, message: string): Promise<EventRow[]> => rows(tx, EventRow)`
  select kind, bounce_type, recipient, detail, occurred_at from email.event where message_id = ${message} order by id limit 1000`;

const RecipientRow = Type.Object({
  address: Type.String(),
  state: Type.String(),
  state_at: Type.String(),
  tries: Type.Integer(),
  last_error: orNull(Type.String()),
  /** Null while it is sent, and once it is done. */
  next_at: orNull(Type.String()),
});
export type RecipientRow = Static<typeof RecipientRow>;

/** The first thousand. */
export const listRecipients = (tx: Tx, message: string): Promise<RecipientRow[]> => rows(tx, RecipientRow)`
  select address, state, state_at, tries, last_error, case when state in ('queued', 'deferred') then run_at end as next_at
    from email.recipient where message_id = ${message} order by id limit 1000`;

const BodyRow = Type.Object({ body_key: Type.String(), body_offset: Type.Integer(), body_bytes: Type.Integer(), domain_id: Type.String() });

/** Location of content that may be shown: for 30 days, and never the product's own mail, whose links log people in. */
export const findBody = (tx: Tx, org: string, id: string) => row(tx, BodyRow)`
  select m.body_key, m.body_offset, m.body_bytes, m.domain_id from email.message m
   where m.org_id = ${org} and m.id = ${id} and m.door <> 'relay' and m.body_key is not null and m.created_at > kernel.now() - interval '30 days'`;
