import Type from 'typebox';
import { rows, type Tx } from '../../../../../kernel/db/index.ts';

const FailingRow = Type.Object({
  id: Type.String(),
  url: Type.String(),
  since: Type.String(),
  disabled_reason: Type.Union([Type.String(), Type.Null()]),
  is_disabled: Type.Boolean(),
  total: Type.Integer(),
});

/** Endpoints that fail or were disabled for failing, the newest trouble first. Those disabled by hand are as their organization wants them. */
export const failingWebhooks = (tx: Tx, org: string, byHand: string, limit: number) => rows(tx, FailingRow)`
  select id, url, coalesce(disabled_at, failing_since) as since, disabled_reason, disabled_at is not null as is_disabled, count(*) over ()::int as total
    from email.webhook
   where org_id = ${org} and case when disabled_at is null then failing_since is not null else disabled_reason is distinct from ${byHand} end
   order by coalesce(disabled_at, failing_since) desc, id limit ${limit}`;
