import Type, { type Static } from 'typebox';
import { row, run, type Tx } from '../../../kernel/db/index.ts';
import { sql } from '../../../kernel/sql.ts';

const OwnerRow = Type.Object({ org_id: Type.String(), user_id: Type.String() });
/** The owner of this machine's token. */
export type MachineOwner = Static<typeof OwnerRow>;

/** The first owner of the first organization. */
export const machineOwner = (tx: Tx): Promise<MachineOwner | undefined> => row(tx, OwnerRow)`
  select m.org_id, m.user_id from identity.member m join identity.org o on o.id = m.org_id
   where m.role = 'owner' order by o.id, m.joined_at limit 1`;

const MachineTokenRow = Type.Object({ id: Type.String(), enabled: Type.Boolean() });

const machineToken = ({ org_id, user_id }: MachineOwner, name: string, hash: Buffer) => sql`
  select id, enabled from identity.token
   where org_id = ${org_id} and user_id = ${user_id} and name = ${name} and minters = '{}' and hash = ${hash}`;

export const findMachineToken = (tx: Tx, owner: MachineOwner, name: string, hash: Buffer) =>
  row(tx, MachineTokenRow)`${machineToken(owner, name, hash)}`;

export const lockMachineToken = (tx: Tx, owner: MachineOwner, name: string, hash: Buffer) =>
  row(tx, MachineTokenRow)`${machineToken(owner, name, hash)} for update`;

/** Whether the token is valid now and for `days` more days. */
export const lastsFor = async (tx: Tx, hash: Buffer, days: number): Promise<boolean> =>
  (await run(tx)`
    select 1 from identity.token where hash = ${hash} and enabled and expires_at > kernel.now() + make_interval(days => ${days})`) > 0;
