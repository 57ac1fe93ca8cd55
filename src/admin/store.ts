import Type from 'typebox';
import { row, type Tx } from '../kernel/db/index.ts';

// What only the operator asks of the database. Organizations, members and tokens are in identity/store.

const JobOrgRow = Type.Object({ id: Type.Integer(), org_id: Type.Union([Type.String(), Type.Null()]), kind: Type.String() });

/** Of one job, dead or not. */
export const jobOrg = (tx: Tx, id: number) => row(tx, JobOrgRow)`select id, org_id, kind from kernel.job where id = ${id}`;
