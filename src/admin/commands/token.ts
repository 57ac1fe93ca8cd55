import type { Command } from 'commander';
import { atDatabase } from './lazily.ts';
import { email, jsonOption, name, organizationOption, whole } from './options.ts';

export function tokenCommand(admin: Command) {
  admin
    .command('token')
    .description('mint a token for a member and print its key, which is shown only here')
    .option('--email <address>', 'whose token; default: the first owner’s', email)
    .option('--name <name>', 'what it is for', name, 'made by the operator')
    .option('--days <days>', 'how long it lives', whole(1, 366), 90)
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../token.ts')).printToken));
}

export function signInLinkCommand(admin: Command) {
  admin
    .command('sign-in-link')
    .description('print a link that signs a member in, once, whatever else keeps them out')
    .argument('[address]', 'whom; default: the first owner', email)
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await import('../sign-in-link.ts')).printSignInLink));
}
