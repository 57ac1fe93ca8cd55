import type { Command } from 'commander';
import { audit, operator } from '../identity/audit.ts';
import { topics } from '../identity/principal.ts';
import { dropElsewhere } from '../kernel/cache.ts';
import type { Config } from '../kernel/config.ts';
import { jsonOption, organizationOption } from './options.ts';
import { organizationNamed } from './organization.ts';
import { printJson, type Shown } from './output.ts';
import { atDatabase } from './session.ts';
import { setPayment } from './store.ts';

interface Where extends Shown {
  organization?: string;
}

export function paymentCommands(admin: Command) {
  const group = admin.command('payment').description('whether an organization counts as paying');
  const show = (options: Where, slug: string, active: boolean, config: Config) => {
    if (options.json) printJson({ organization: slug, payment: active ? 'active' : 'inactive', provider: config.payment_url !== '' });
    else console.log(`payment of ${slug} is ${active ? 'active' : 'inactive'}`);
    if (config.payment_url) console.error('this holds without a payment provider; while QUARTERDECK_PAYMENT_URL is set, the provider decides');
  };

  group
    .command('show')
    .description('whether it does')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db, config }, options: Where) => {
        const org = await db.read((tx) => organizationNamed(tx, options.organization));
        show(options, org.slug, org.payment_active, config);
      }),
    );

  group
    .command('set')
    .description('whether it does from now on')
    .addArgument(group.createArgument('<state>').choices(['active', 'inactive']))
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db, config }, state: 'active' | 'inactive', options: Where) => {
        const active = state === 'active';
        const org = await db.write(async (tx) => {
          const org = await organizationNamed(tx, options.organization);
          await setPayment(tx, org.id, active);
          await audit(tx, operator(org.id), 'organization.payment.set', org, { from: org.payment_active, to: active });
          await dropElsewhere(tx, topics.org(org.id));
          return org;
        });
        show(options, org.slug, active, config);
      }),
    );
}
