import type { Command } from 'commander';
import { agentCommands } from './commands/agents.ts';
import { backupCommands } from './commands/backup.ts';
import { clusterCommands } from './commands/clusters.ts';
import { emailCommands } from './commands/email.ts';
import { entitlementCommands, paymentCommands } from './commands/entitlements.ts';
import { auditCommand, jobCommands } from './commands/jobs.ts';
import { memberCommands } from './commands/members.ts';
import { organizationCommands } from './commands/organizations.ts';
import { tokenCommand } from './commands/token.ts';

/** `quarterdeck admin …`: for whoever runs the server, beside it or without it. Every change is audited as `operator`. */
export function registerAdmin(program: Command): void {
  const admin = program.command('admin').description('run this installation: organizations, keys, backups, background work');
  organizationCommands(admin);
  memberCommands(admin);
  tokenCommand(admin);
  entitlementCommands(admin);
  paymentCommands(admin);
  auditCommand(admin);
  jobCommands(admin);
  agentCommands(admin);
  emailCommands(admin);
  clusterCommands(admin);
  backupCommands(admin);
}
