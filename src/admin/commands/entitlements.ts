import { Argument, type Command } from 'commander';
import { atDatabase } from './lazily.ts';
import { entitlements, jsonOption, organizationOption } from './options.ts';

export function entitlementCommands(admin: Command) {
  const work = () => import('../entitlements.ts');
  const group = admin.command('entitlements').description('which services an organization may use');

  group
    .command('show')
    .description('what it may use')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).showEntitlements));

  group
    .command('set')
    .description('what it may use from now on')
    .argument('<list>', 'email,uptime or one of them, or none', entitlements)
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).changeEntitlements));
}

export function paymentCommands(admin: Command) {
  const work = () => import('../payment.ts');
  const group = admin.command('payment').description('whether an organization counts as paying');

  group
    .command('show')
    .description('whether it does')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).showPayment));

  group
    .command('set')
    .description('whether it does from now on')
    .addArgument(new Argument('<state>').choices(['active', 'inactive']))
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(atDatabase(async () => (await work()).changePayment));
}
