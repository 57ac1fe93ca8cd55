// Holds the import rules, and the checker itself: a checker that parsed nothing also finds nothing.
import { cpSync, mkdtempSync, readdirSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { cruise, type IReporterOutput } from 'dependency-cruiser';

const rules = createRequire(import.meta.url)('../.dependency-cruiser.cjs');

/** One forbidden import for each rule. */
const planted: Record<string, [file: string, imports: string]> = {
  'contract-imports-only-typebox': ['contract/planted-a.ts', '../src/kernel/errors.ts'],
  'kernel-knows-no-identity-or-area': ['src/kernel/planted-b.ts', '../identity/audit.ts'],
  'identity-knows-no-area': ['src/identity/planted-c.ts', '../areas/index.ts'],
  'an-area-has-one-door': ['src/areas/tokens/planted-d.ts', '../oncall/store/pages.ts'],
  'areas-are-entered-by-index': ['src/boot/planted-e.ts', '../areas/oncall/store/pages.ts'],
  'rules-are-pure': ['src/areas/oncall/rules/planted-f.ts', '../../../kernel/db/index.ts'],
  'store-knows-only-rows': ['src/areas/oncall/store/planted-l.ts', '../engine/step.ts'],
  'engine-knows-nobody-who-asks': ['src/areas/oncall/engine/planted-m.ts', '../tasks.ts'],
  'clients-are-handed-what-they-need': ['src/areas/oncall/clients/planted-n.ts', '../store/pages.ts'],
  'views-show-and-do-nothing': ['src/areas/oncall/views/planted-o.ts', '../engine/step.ts'],
  'a-plane-knows-no-other-plane': ['src/areas/registry/planes/oci/planted-p.ts', '../token/index.ts'],
  'nobody-asks-an-operation': ['src/areas/oncall/engine/planted-q.ts', '../operations/open-incident.ts'],
  'only-store-speaks-sql': ['src/areas/tokens/operations/planted-r.ts', '../../../kernel/sql.ts'],
  'shared-rooms-of-email-know-no-sub-area': ['src/areas/email/engine/planted-u.ts', '../webhooks/rules/webhook-retry.ts'],
  'webhooks-know-no-other-sub-area': ['src/areas/email/webhooks/engine/planted-v.ts', '../../domains/store/domains.ts'],
  'domains-know-no-mail': ['src/areas/email/domains/engine/planted-w.ts', '../../outbound/store/queue.ts'],
  'outbound-knows-no-inbound': ['src/areas/email/outbound/engine/planted-x.ts', '../../inbound/store/routes.ts'],
  'programs-reach-no-area': ['src/programs/prober/planted-s.ts', '../../areas/uptime/index.ts'],
  'protocols-stand-alone': ['src/protocols/planted-t.ts', '../kernel/errors.ts'],
  'cli-imports-only-the-sdk': ['cli/planted-g.ts', '../src/kernel/errors.ts'],
  'data-of-the-console-shows-nothing': ['console/data/planted-a.ts', '../ui/link.tsx'],
  'parts-of-the-console-know-no-screen': ['console/ui/planted-a.ts', '../shell/screens.ts'],
  'screens-of-areas-know-no-other-area': ['console/areas/home/planted-a.ts', '../any/screens.ts'],
  'sdk-stands-alone': ['sdk/planted-h.ts', '../contract/common.ts'],
  'product-needs-no-tests': ['src/boot/planted-i.ts', '../../test/harness/request.ts'],
  'try-knows-the-kernel-alone': ['src/try/planted-a.ts', '../areas/email/index.ts'],
  'only-a-start-uses-try': ['src/identity/planted-e.ts', '../try/index.ts'],
  'drivers-know-no-area': ['src/drivers/process/engine/planted-a.ts', '../../../areas/clusters/store/clusters.ts'],
  'only-clusters-and-admin-use-drivers': ['src/identity/planted-d.ts', '../drivers/driver.ts'],
  'a-driver-has-one-door': ['src/areas/clusters/engine/planted-a.ts', '../../../drivers/process/store/kine.ts'],
  'a-driver-knows-no-other-driver': ['src/drivers/process/engine/planted-b.ts', '../../embedded/index.ts'],
  'rules-of-a-driver-are-pure': ['src/drivers/embedded/rules/planted-a.ts', '../../../kernel/db/index.ts'],
  'store-of-a-driver-knows-only-rows': ['src/drivers/embedded/store/planted-a.ts', '../engine/change.ts'],
  'engine-of-a-driver-knows-no-plane': ['src/drivers/embedded/engine/planted-a.ts', '../planes/serve.ts'],
  'clients-of-a-driver-are-handed-what-they-need': ['src/drivers/process/clients/planted-a.ts', '../store/kine.ts'],
  'only-store-of-a-driver-speaks-sql': ['src/drivers/process/planes/planted-a.ts', '../../../kernel/sql.ts'],
  'no-http-in-engine': ['src/drivers/process/engine/planted-c.ts', 'node:http'],
  'no-cycles': ['src/boot/planted-j.ts', './planted-k.ts'],
};

const roots = ['contract', 'src', 'cli', 'sdk', 'console'];
const isPlanted = (file: string) => /\/planted-[a-z]\.ts$/.test(file);

for (const { name } of rules.forbidden as { name: string }[])
  if (!planted[name]) throw new Error(`no planted violation for the rule ${name}: add one`);

// In a copy: other checks read the sources at this moment. No source imports the planted files, so one run tells their violations from
// those of the sources.
const copy = mkdtempSync(join(tmpdir(), 'planted-'));
try {
  for (const entry of readdirSync('.')) {
    if (roots.includes(entry)) cpSync(entry, join(copy, entry), { recursive: true });
    else symlinkSync(join(process.cwd(), entry), join(copy, entry));
  }
  process.chdir(copy);
  for (const [file, imports] of Object.values(planted))
    writeFileSync(file, `import * as planted from '${imports}';\nexport const here = planted;\n`);
  writeFileSync('src/boot/planted-k.ts', `import * as planted from './planted-j.ts';\nexport const there = planted;\n`);
  const { output } = await cruise(roots, { ruleSet: rules, ...rules.options, preserveSymlinks: true, validate: true });
  const { violations, totalCruised } = (output as Exclude<IReporterOutput['output'], string>).summary;
  const [found, real] = [violations.filter((v) => isPlanted(v.from)), violations.filter((v) => !isPlanted(v.from))];
  for (const v of real) console.error(`${v.rule.name}: ${v.from} → ${v.to}`);
  if (totalCruised < 50) throw new Error(`only ${totalCruised} modules were read: the checker does not see the sources`);
  const missed = Object.keys(planted).filter((name) => !found.some((v) => v.rule.name === name));
  if (missed.length) throw new Error(`the checker did not find the planted violation of: ${missed.join(', ')}`);
  if (real.length) process.exitCode = 1;
} finally {
  rmSync(copy, { recursive: true, force: true });
}
