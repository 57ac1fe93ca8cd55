import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../../../kernel/db/index.ts';
import { isVisible, type Sql, sql, type Visible } from '../../../kernel/sql.ts';
import { idTime } from '../../../kernel/time.ts';

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

/** What is older is in nobody's log, whether it was removed yet or not. */
const isLogged = sql`m.created_at > kernel.now() - interval '90 days'`;

export interface MessageFilters {
  direction?: string;
  state?: string;
  domainId?: string;
  /** In lower case. */
  to?: string;
  since?: string;
}

/** Newest first, from the one before `before` on. */
export const listMessageRows = (
  tx: Tx,
  org: string,
  visible: Visible,
  { direction, state, domainId, to, since }: MessageFilters,
  { before, limit }: { before: string | null; limit: number },
): Promise<MessageRow[]> => rows(tx, MessageRow)`
  select ${columns} from email.message m
   where m.org_id = ${org} and ${isVisible(visible, sql`m.domain_id`)} and ${isLogged}
     and ${before === null ? all : sql`m.id < ${before}`}
     and ${direction === undefined ? all : sql`m.direction = ${direction}`}
     and ${state === undefined ? all : sql`m.state = ${state}`}
     and ${domainId === undefined ? all : sql`m.domain_id = ${domainId}`}
     and ${to === undefined ? all : sql`m.id in (${idsTo(org, to)})`}
     and ${since === undefined ? all : sql`m.created_at >= ${since}::timestamptz and m.id >= ${idAt(since)}`}
   order by m.id desc limit ${limit}`;
const all: Sql = sql`true`;

const idsTo = (org: string, to: string): Sql => sql`select r.message_id from email.recipient r where r.org_id = ${org} and r.folded = ${to}
   union all select a.message_id from email.received_address a where a.org_id = ${org} and a.folded = ${to}`;

/** The smallest id of a little before this time: ids begin with the time, so that an index finds where to begin. */
const idAt = (since: string): string => `msg_${idTime(Date.parse(since) - 60_000)}`;

export const findMessage = (tx: Tx, org: string, id: string): Promise<MessageRow | undefined> =>
  row(tx, MessageRow)`select ${columns} from email.message m where m.org_id = ${org} and m.id = ${id} and ${isLogged}`;

const EventRow = Type.Object({
  kind: Type.Enum(['sent', 'delivered', 'bounced', 'complained'] as const),
  bounce_type: orNull(Type.String()),
  recipient: orNull(Type.String()),
  detail: Type.Unsafe<Record<string, unknown> | null>({}),
  occurred_at: Type.String(),
});
export type EventRow = Static<typeof EventRow>;

export const listEvents = (tx: Tx, message: string): Promise<EventRow[]> => rows(tx, EventRow)`
  select kind, bounce_type, recipient, detail, occurred_at from email.event where message_id = ${message} order by id limit 1000`;

const BodyRow = Type.Object({ body_key: Type.String(), body_offset: Type.Integer(), body_bytes: Type.Integer(), domain_id: Type.String() });

/** Where the content of a message is that may still be shown: for 30 days, and never the product's own, whose links log people in. */
export const findBody = (tx: Tx, org: string, id: string) => row(tx, BodyRow)`
  select m.body_key, m.body_offset, m.body_bytes, m.domain_id from email.message m
   where m.org_id = ${org} and m.id = ${id} and m.door <> 'relay' and m.body_key is not null and m.created_at > kernel.now() - interval '30 days'`;
