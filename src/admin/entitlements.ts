import { type Command, InvalidArgumentError } from 'commander';
import { audit, operator } from '../identity/audit.ts';
import { topics } from '../identity/principal.ts';
import { dropElsewhere } from '../kernel/cache.ts';
import { jsonOption, organizationOption } from './options.ts';
import { organizationNamed } from './organization.ts';
import { printJson, type Shown } from './output.ts';
import { atDatabase } from './session.ts';
import { setEntitlements } from './store.ts';

const known = ['email', 'uptime'];

interface Where extends Shown {
  organization?: string;
}

function parse(text: string): string[] {
  const wanted = text === 'none' ? [] : text.split(',').map((part) => part.trim());
  const unknown = wanted.find((part) => !known.includes(part));
  if (unknown !== undefined) throw new InvalidArgumentError(`“${unknown}” is none of ${known.join(', ')}; “none” stands for none of them.`);
  return known.filter((part) => wanted.includes(part));
}

export function entitlementCommands(admin: Command) {
  const group = admin.command('entitlements').description('which services an organization may use');
  const show = (options: Where, slug: string, entitlements: readonly string[]) => {
    if (options.json) printJson({ organization: slug, entitlements });
    else console.log(`${slug} may use: ${entitlements.join(', ') || 'neither email nor uptime'}`);
  };

  group
    .command('show')
    .description('what it may use')
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db }, options: Where) => {
        const org = await db.read((tx) => organizationNamed(tx, options.organization));
        show(options, org.slug, org.entitlements);
      }),
    );

  group
    .command('set')
    .description('what it may use from now on')
    .argument('<list>', 'email,uptime or one of them, or none', parse)
    .addOption(organizationOption())
    .addOption(jsonOption())
    .action(
      atDatabase(async ({ db }, wanted: string[], options: Where) => {
        const org = await db.write(async (tx) => {
          const org = await organizationNamed(tx, options.organization);
          await setEntitlements(tx, org.id, wanted);
          await audit(tx, operator(org.id), 'organization.entitlements.set', org, { from: org.entitlements, to: wanted });
          await dropElsewhere(tx, topics.org(org.id));
          return org;
        });
        show(options, org.slug, wanted);
      }),
    );
}
