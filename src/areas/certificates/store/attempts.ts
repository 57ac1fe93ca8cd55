import Type from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';

export interface NewAttempt {
  name: string;
  org: string | null;
  registered: string;
  isFirst: boolean;
  outcome: 'ordered' | 'issued' | 'refused';
}

export const recordAttempt = (tx: Tx, a: NewAttempt) => run(tx)`
  insert into certificates.attempt (name, org_id, registered, is_first, outcome, at)
  values (${a.name}, ${a.org}, ${a.registered}, ${a.isFirst}, ${a.outcome}, kernel.now())`;

const RecentRow = Type.Object({
  refused_last_hour: Type.Integer(),
  issued_last_week: Type.Integer(),
  first_orders_last_week: Type.Integer(),
  orders_last_hours: Type.Integer(),
  own_orders_last_hours: Type.Integer(),
});

export const countRecent = async (tx: Tx, { name, org, registered }: Pick<NewAttempt, 'name' | 'org' | 'registered'>) => {
  const found = (await row(tx, RecentRow)`
    select (select count(*)::int from certificates.attempt where name = ${name} and outcome = 'refused' and at > c.now - interval '1 hour') as refused_last_hour,
           (select count(*)::int from certificates.attempt where name = ${name} and outcome = 'issued' and at > c.now - interval '7 days') as issued_last_week,
           (select count(*)::int from certificates.attempt
             where registered = ${registered} and outcome = 'ordered' and is_first and at > c.now - interval '7 days') as first_orders_last_week,
           (select count(*)::int from certificates.attempt where outcome = 'ordered' and at > c.now - interval '3 hours') as orders_last_hours,
           (select count(*)::int from certificates.attempt
             where outcome = 'ordered' and at > c.now - interval '3 hours' and org_id = ${org}) as own_orders_last_hours
      from (select kernel.now() as now offset 0) c`)!;
  return {
    refusedLastHour: found.refused_last_hour,
    issuedLastWeek: found.issued_last_week,
    firstOrdersLastWeek: found.first_orders_last_week,
    ordersLastHours: found.orders_last_hours,
    ownOrdersLastHours: found.own_orders_last_hours,
  };
};

const OrderedRow = Type.Object({ is_ordered: Type.Boolean() });

/** Whether the last order of a name was made within these days. */
export const isOrderedWithin = async (tx: Tx, name: string, days: number): Promise<boolean> =>
  (await row(tx, OrderedRow)`
    select exists (select 1 from certificates.attempt
                    where name = ${name} and outcome = 'ordered' and at > kernel.now() - make_interval(days => ${days})) as is_ordered`)!
    .is_ordered;

export const deleteOldAttempts = (tx: Tx) => run(tx)`delete from certificates.attempt where at < kernel.now() - interval '31 days'`;
