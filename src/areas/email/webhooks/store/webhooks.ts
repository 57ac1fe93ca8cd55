import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { hint } from '../../../../kernel/jobs/index.ts';
import { sql } from '../../../../kernel/sql.ts';

const WebhookRow = Type.Object({
  org_id: Type.String(),
  id: Type.String(),
  url: Type.String(),
  event_types: Type.Array(Type.String()),
  created_at: Type.String(),
  disabled: Type.Boolean(),
  disabled_reason: Type.Union([Type.String(), Type.Null()]),
});
export type WebhookRow = Static<typeof WebhookRow>;

const columns = sql`org_id, id, url, event_types, created_at, disabled_at is not null as disabled, disabled_reason`;

export const webhooksOf = (tx: Tx, org: string): Promise<WebhookRow[]> => rows(tx, WebhookRow)`
  select ${columns} from email.webhook where org_id = ${org} order by id desc`;

const SecretRow = Type.Object({ id: Type.String(), secret: Type.Unsafe<Buffer>({}) });

/** The sealed secrets of endpoints at a URL, of all organizations. */
export const secretsAt = (tx: Tx, url: string) => rows(tx, SecretRow)`
  select id, secret from email.webhook where url = ${url} order by id desc limit 50`;

export const lockWebhook = (tx: Tx, org: string, id: string) => row(tx, WebhookRow)`
  select ${columns} from email.webhook where org_id = ${org} and id = ${id} for update`;

/** Counts under a lock until the transaction ends, so that two concurrent requests cannot both take the last slot. */
export const countWebhooks = async (tx: Tx, org: string): Promise<number> => {
  await run(tx)`select pg_advisory_xact_lock(hashtext('email.webhook'), hashtext(${org}))`;
  return (await row(tx, Type.Object({ n: Type.Integer() }))`select count(*)::int as n from email.webhook where org_id = ${org}`)!.n;
};

export const newWebhookId = async (tx: Tx): Promise<string> =>
  (await row(tx, Type.Object({ id: Type.String() }))`select kernel.new_id('whk') as id`)!.id;

export interface NewWebhook {
  id: string;
  url: string;
  eventTypes: readonly string[];
  secret: Buffer;
}

export const insertWebhook = async (tx: Tx, org: string, { id, url, eventTypes, secret }: NewWebhook): Promise<WebhookRow> =>
  (await row(tx, WebhookRow)`
    insert into email.webhook (org_id, id, url, event_types, secret, created_at)
    values (${org}, ${id}, ${url}, ${eventTypes}, ${secret}, kernel.now()) returning ${columns}`)!;

export interface WebhookChange {
  url: string;
  eventTypes: readonly string[];
  disabled: boolean;
  /** Why it is disabled. */
  reason: string | null;
}

/** Resets the failure time, since a change usually fixes the endpoint. */
export const updateWebhook = async (tx: Tx, org: string, id: string, to: WebhookChange): Promise<WebhookRow> =>
  (await row(tx, WebhookRow)`
    update email.webhook
       set url = ${to.url}, event_types = ${to.eventTypes}, failing_since = null, disabled_reason = ${to.reason},
           disabled_at = case when ${to.disabled} then coalesce(disabled_at, kernel.now()) end
     where org_id = ${org} and id = ${id} returning ${columns}`)!;

/** 0: already disabled (the first reason stays) or deleted. */
export function disableWebhook(tx: Tx, org: string, id: string, reason: string) {
  hint(tx, org, 'email.webhook');
  return run(tx)`
  update email.webhook set disabled_at = kernel.now(), disabled_reason = ${reason} where org_id = ${org} and id = ${id} and disabled_at is null`;
}

export const replaceSecret = (tx: Tx, org: string, id: string, secret: Buffer) => run(tx)`
  update email.webhook set secret = ${secret} where org_id = ${org} and id = ${id}`;

export const deleteWebhook = (tx: Tx, org: string, id: string) => run(tx)`delete from email.webhook where org_id = ${org} and id = ${id}`;

/** Locks in id order, so that two processes do not deadlock. */
export const noteFailing = (tx: Tx, ids: readonly string[]) => run(tx)`
  with failing as (select id from email.webhook where id = any(${ids}::text[]) and failing_since is null order by id for update)
  update email.webhook w set failing_since = kernel.now() from failing f where w.id = f.id`;

export const noteWorking = (tx: Tx, ids: readonly string[]) => run(tx)`
  with working as (select id from email.webhook where id = any(${ids}::text[]) and failing_since is not null order by id for update)
  update email.webhook w set failing_since = null from working f where w.id = f.id`;

const PatternRow = Type.Object({ pattern: Type.String(), name: Type.String() });

/** A route to this endpoint, if any. */
export const routeTo = (tx: Tx, org: string, endpointId: string) => row(tx, PatternRow)`
  select r.pattern, d.name from email.route r join email.domain d on d.id = r.domain_id
   where r.org_id = ${org} and r.endpoint_id = ${endpointId} order by r.id limit 1`;
