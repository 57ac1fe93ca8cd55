import Type, { type Static } from 'typebox';
import { rows, type Tx } from '../../../kernel/db/index.ts';

const QueuedRow = Type.Object({
  org_id: Type.String(),
  state: Type.String(),
  recipients: Type.Integer(),
  oldest_seconds: Type.Number(),
  last_error: Type.Union([Type.String(), Type.Null()]),
});
export type QueuedRow = Static<typeof QueuedRow>;

/** Mail that is under way, by organization and state, with how long the oldest has been due. */
export const queueFigures = (tx: Tx): Promise<QueuedRow[]> => rows(tx, QueuedRow)`
  select org_id, state, count(*)::int as recipients,
         greatest(0, extract(epoch from kernel.now() - min(run_at)))::float8 as oldest_seconds,
         (array_agg(last_error order by state_at desc) filter (where last_error is not null))[1] as last_error
    from email.recipient where done_at is null group by org_id, state order by org_id, state`;
