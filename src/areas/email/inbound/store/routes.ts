import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../../kernel/db/index.ts';
import { isVisible, sql, type Visible } from '../../../../kernel/sql.ts';

const RouteRow = Type.Object({
  id: Type.String(),
  domain_id: Type.String(),
  pattern: Type.String(),
  endpoint_id: Type.String(),
  created_at: Type.String(),
});
export type RouteRow = Static<typeof RouteRow>;

const columns = sql`id, domain_id, pattern, endpoint_id, created_at`;

export const routesOf = (tx: Tx, org: string, visible: Visible): Promise<RouteRow[]> => rows(tx, RouteRow)`
  select ${columns} from email.route where org_id = ${org} and ${isVisible(visible, sql`domain_id`)} order by id desc`;

export const lockRoute = (tx: Tx, org: string, id: string): Promise<RouteRow | undefined> => row(tx, RouteRow)`
  select ${columns} from email.route where org_id = ${org} and id = ${id} for update`;

const CountRow = Type.Object({ n: Type.Integer() });

/** The caller holds the domain's lock, so the count stays valid until the transaction ends. */
export const countRoutes = async (tx: Tx, domainId: string): Promise<number> =>
  (await row(tx, CountRow)`select count(*)::int as n from email.route where domain_id = ${domainId}`)!.n;

/** Undefined: the domain already has this pattern. */
export const insertRoute = (
  tx: Tx,
  org: string,
  { domainId, pattern, endpointId }: { domainId: string; pattern: string; endpointId: string },
): Promise<RouteRow | undefined> => row(tx, RouteRow)`
  insert into email.route (org_id, id, domain_id, pattern, endpoint_id, created_at)
  values (${org}, kernel.new_id('rte'), ${domainId}, ${pattern}, ${endpointId}, kernel.now())
  on conflict (domain_id, pattern) do nothing returning ${columns}`;

export const deleteRoute = (tx: Tx, org: string, id: string) => run(tx)`delete from email.route where org_id = ${org} and id = ${id}`;

const ReceivingRow = Type.Object({
  org_id: Type.String(),
  id: Type.String(),
  send_state: Type.String(),
  receive_state: Type.String(),
  routes: Type.Array(Type.Object({ id: Type.String(), pattern: Type.String(), endpoint_id: Type.String() })),
});
export type ReceivingRow = Static<typeof ReceivingRow>;

/** A domain by name with everything that decides about a recipient. */
export const receivingByName = (tx: Tx, name: string): Promise<ReceivingRow | undefined> => row(tx, ReceivingRow)`
  select d.org_id, d.id, d.send_state, d.receive_state,
         coalesce((select json_agg(json_build_object('id', r.id, 'pattern', r.pattern, 'endpoint_id', r.endpoint_id)) from email.route r where r.domain_id = d.id), '[]'::json) as routes
    from email.domain d where d.name = ${name}`;

const ReportedRow = Type.Object({ org_id: Type.String(), message_id: Type.String(), domain_id: Type.String() });

/** The sent message of a recipient, if it was sent from this domain. */
export const reportedBy = (tx: Tx, recipient: number, domain: string): Promise<Static<typeof ReportedRow> | undefined> => row(
  tx,
  ReportedRow,
)`
  select r.org_id, r.message_id, m.domain_id
    from email.recipient r join email.message m on m.id = r.message_id join email.domain d on d.id = m.domain_id
   where r.id = ${recipient} and d.name = ${domain}`;
