import type { Command } from 'commander';
import { organizationStore } from '../areas/organization/index.ts';
import { jsonOption, organizationOption, whole } from './options.ts';
import { installation, organizationNamed } from './organization.ts';
import { printJson, printTable, type Shown } from './output.ts';
import { atDatabase } from './session.ts';

interface Wanted extends Shown {
  organization?: string;
  installation?: true;
  limit: number;
}

export function auditCommand(admin: Command) {
  admin
    .command('audit')
    .description('who did what in an organization, newest first')
    .option('--installation', 'what the operator did that concerns no organization: backups, keys, jobs')
    .option('--limit <count>', 'at most so many', whole(1, 1_000), 50)
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db }, o: Wanted) => {
        const entries = await db.read(async (tx) => {
          const org = o.installation ? installation : (await organizationNamed(tx, o.organization)).id;
          return organizationStore.auditEntries(tx, org, { limit: o.limit, after: null });
        });
        const shown = entries.slice(0, o.limit);
        if (o.json) return printJson(shown);
        const rows = shown.map((e) => ({ at: e.at, who: e.actor_label, what: e.action, target: e.target, detail: JSON.stringify(e.detail) }));
        printTable(rows, 'nothing has been done yet');
      }),
    );
}
