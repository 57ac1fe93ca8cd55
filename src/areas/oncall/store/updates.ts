import Type, { type Static } from 'typebox';
import { row, rows, run, type Tx } from '../../../kernel/db/index.ts';

const UpdateRow = Type.Object({ id: Type.String(), at: Type.String(), body: Type.String(), by_label: Type.String(), kind: Type.String() });
export type UpdateRow = Static<typeof UpdateRow>;

// An incident is public while it has an update. Status pages read only such incidents.

export const updatesOf = (tx: Tx, org: string, incidentId: string) => rows(tx, UpdateRow)`
  select id, at, body, by_label, kind from oncall.public_update where org_id = ${org} and incident_id = ${incidentId} order by id`;

export const countUpdates = async (tx: Tx, org: string, incidentId: string): Promise<number> =>
  (await row(tx, Type.Object({ n: Type.Integer() }))`
    select count(*)::int as n from oncall.public_update where org_id = ${org} and incident_id = ${incidentId}`)!.n;

export const insertUpdate = async (
  tx: Tx,
  org: string,
  incidentId: string,
  body: string,
  byLabel: string,
  kind: string,
): Promise<UpdateRow> =>
  (await row(tx, UpdateRow)`
    insert into oncall.public_update (org_id, incident_id, id, at, body, by_label, kind)
    values (${org}, ${incidentId}, kernel.new_id('upd'), kernel.now(), ${body}, ${byLabel}, ${kind})
    returning id, at, body, by_label, kind`)!;

/** Deletes the update for good. */
export const deleteUpdate = async (tx: Tx, org: string, incidentId: string, id: string): Promise<boolean> =>
  (await run(tx)`delete from oncall.public_update where org_id = ${org} and incident_id = ${incidentId} and id = ${id}`) > 0;
