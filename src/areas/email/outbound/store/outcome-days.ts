import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { migratedAt } from '../../../../kernel/migrate.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

/** Days that are kept, and that can be asked for. */
export const outcomeDays = 400;

const figures = sql`sent, delivered, bounced, hard, complained, suppressed`;

export interface OutcomeCount {
  sent?: number;
  delivered?: number;
  bounced?: number;
  hard?: number;
  complained?: number;
}

/** A later report about one recipient of a message. */
export const addReportedOutcome = (tx: Tx, org: string, messageId: string, c: OutcomeCount): Promise<number> => run(tx)`
  insert into email.outcome_change (org_id, domain_id, day, ${figures})
  select org_id, domain_id, (kernel.now() at time zone 'UTC')::date, ${c.sent ?? 0}::int, ${c.delivered ?? 0}::int, ${c.bounced ?? 0}::int, ${c.hard ?? 0}::int,
         ${c.complained ?? 0}::int, 0
    from email.message where org_id = ${org} and id = ${messageId}`;

const CountRow = Type.Object({ changes: Type.Integer() });

/** Adds the oldest changes to their days; how many. */
export const foldOutcomes = async (tx: Tx, limit: number): Promise<number> =>
  (await row(tx, CountRow)`
    with gone as (
      delete from email.outcome_change where id in (select id from email.outcome_change order by id limit ${limit})
      returning org_id, domain_id, day, ${figures}),
    kept as (
      insert into email.outcome_day as d (org_id, domain_id, day, ${figures})
      select org_id, domain_id, day, sum(sent), sum(delivered), sum(bounced), sum(hard), sum(complained), sum(suppressed)
        from gone group by org_id, domain_id, day order by org_id, day, domain_id
          on conflict (org_id, day, domain_id) do update
             set sent = d.sent + excluded.sent, delivered = d.delivered + excluded.delivered, bounced = d.bounced + excluded.bounced,
                 hard = d.hard + excluded.hard, complained = d.complained + excluded.complained, suppressed = d.suppressed + excluded.suppressed)
    select count(*)::int as changes from gone`)!.changes;

const DayRow = Type.Object({
  day: Type.String(),
  sent: Type.Integer(),
  delivered: Type.Integer(),
  bounced: Type.Integer(),
  hard: Type.Integer(),
  complained: Type.Integer(),
  suppressed: Type.Integer(),
});
export type DayRow = Static<typeof DayRow>;

/** Every day from `from` to `to`, both included, oldest first; of the domains that the caller may see, or of one. */
export const outcomesByDay = (
  tx: Tx,
  org: string,
  visible: Visible,
  { from, to, domainId }: { from: string; to: string; domainId?: string },
): Promise<DayRow[]> => {
  const wanted = sql`org_id = ${org} and day between ${from}::date and ${to}::date and ${isVisible(visible, sql`domain_id`)}
                     and (${domainId ?? null}::text is null or domain_id = ${domainId ?? null})`;
  return rows(tx, DayRow)`
    select d::date::text as day, coalesce(sum(sent), 0)::bigint as sent, coalesce(sum(delivered), 0)::bigint as delivered,
           coalesce(sum(bounced), 0)::bigint as bounced, coalesce(sum(hard), 0)::bigint as hard,
           coalesce(sum(complained), 0)::bigint as complained, coalesce(sum(suppressed), 0)::bigint as suppressed
      from generate_series(${from}::date, ${to}::date, interval '1 day') d
      left join (select day, ${figures} from email.outcome_day where ${wanted}
                 union all
                 select day, ${figures} from email.outcome_change where ${wanted}) o on o.day = d::date
     group by d order by d`;
};

export const outcomesCountedFrom = (tx: Tx): Promise<string> => migratedAt(tx, 'email/0023_outcomes_by_day');
