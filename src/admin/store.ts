import Type, { type Static } from 'typebox';
import { row, rows, type Tx } from '../kernel/db/index.ts';

// What only the operator asks of the database. Organizations, members and tokens are in identity/store.

const JobOrgRow = Type.Object({ id: Type.Integer(), org_id: Type.Union([Type.String(), Type.Null()]), kind: Type.String() });

/** Of one job, dead or not. */
export const jobOrg = (tx: Tx, id: number) => row(tx, JobOrgRow)`select id, org_id, kind from kernel.job where id = ${id}`;

const ServersRow = Type.Object({ address: Type.Union([Type.String(), Type.Null()]), here: Type.Boolean() });

/** Every serving process holds one connection for hearing; `here`: it comes from the machine that we come from. */
export const servers = (tx: Tx): Promise<Static<typeof ServersRow>[]> => rows(tx, ServersRow)`
  select host(client_addr) as address, client_addr is not distinct from inet_client_addr() as here
    from pg_stat_activity where datname = current_database() and application_name = 'quarterdeck listen'`;
