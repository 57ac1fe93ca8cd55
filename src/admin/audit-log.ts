import { listAuditRows } from '../identity/store/audit.ts';
import { findOrganization, installation } from './organization.ts';
import { type OutputOptions, printJson, printTable } from './output.ts';
import type { Session } from './session.ts';

interface Wanted extends OutputOptions {
  organization?: string;
  installation?: true;
  limit: number;
}

export async function printAudit({ db }: Session, o: Wanted) {
  const entries = await db.read(async (tx) => {
    const org = o.installation ? installation : (await findOrganization(tx, o.organization)).id;
    return listAuditRows(tx, org, {}, { limit: o.limit, after: null });
  });
  const shown = entries
    .slice(0, o.limit)
    .map(({ is_beyond, ...entry }) => ({ ...entry, ...(is_beyond ? { detail: { left: 'out' } } : {}) }));
  if (o.json) return printJson(shown);
  const rows = shown.map((e) => ({ at: e.at, who: e.actor_label, what: e.action, target: e.target, detail: JSON.stringify(e.detail) }));
  printTable(rows, 'nothing has been done yet');
}
