// The operator's commands. Each command is declared in commands/ and loads its work when it runs. Most open a session (session.ts): the
// database of a running server, or the embedded one for as long as the command takes. A session refuses a database of another release.
//
// backup/: copies rows of one snapshot and the objects that they name into a new directory. An advisory lock keeps objects from being
// removed meanwhile. The directory gets its final name when it is whole; a killed run leaves a `.partial-` directory.
// restore/: fills an empty database. Objects and key come first, rows in one transaction last, so a killed run leaves an empty database
// or a whole one. Mail, pages and webhooks are held back until `restore go`.
// key/: rotates secret.key in the steps add, promote, reseal and drop. The stage follows from the key file and the canary, so a killed
// rotation continues with the next step.
// doctor/: checks an installation and judges each finding as ok, warn or fail; it changes nothing but one small test object.
// clusters/: installs and removes the programs of Kubernetes versions.
import type { Command } from 'commander';
import { agentCommands } from './commands/agents.ts';
import { backupCommands } from './commands/backup.ts';
import { certificateCommands } from './commands/certificates.ts';
import { clusterCommands } from './commands/clusters.ts';
import { emailCommands } from './commands/email.ts';
import { entitlementCommands, paymentCommands } from './commands/entitlements.ts';
import { auditCommand, jobCommands } from './commands/jobs.ts';
import { memberCommands } from './commands/members.ts';
import { organizationCommands } from './commands/organizations.ts';
import { reloadCommand } from './commands/reload.ts';
import { serviceCommand } from './commands/service.ts';
import { signInLinkCommand, tokenCommand } from './commands/token.ts';

/** `quarterdeck admin …`: commands of the operator, beside a running server or without one. Every change is audited as `operator`. */
export function registerAdmin(program: Command): void {
  const admin = program.command('admin').description('run this installation: organizations, keys, backups, background work');
  organizationCommands(admin);
  memberCommands(admin);
  tokenCommand(admin);
  signInLinkCommand(admin);
  entitlementCommands(admin);
  paymentCommands(admin);
  auditCommand(admin);
  jobCommands(admin);
  agentCommands(admin);
  certificateCommands(admin);
  emailCommands(admin);
  clusterCommands(admin);
  backupCommands(admin);
  reloadCommand(admin);
  serviceCommand(admin);
}
