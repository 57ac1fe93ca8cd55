import { existsSync, readFileSync, statSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { tell } from '../../../cli/tell.ts';
import { type Config, type ExplainedSetting, readConfig } from '../../kernel/config.ts';
import { exitCodes, Stop } from '../../kernel/errors.ts';
import { listRoles, type Role } from '../../kernel/roles.ts';
import { renderUnit, type UnitFacts, usualFacts } from './unit.ts';

interface Wanted {
  user?: string;
  roles?: Role[];
  write?: boolean;
}

const unitFolder = '/etc/systemd/system';

/** Prints the unit of this installation for systemd, or writes it where systemd finds it. */
export async function installService({ user, roles, write = false }: Wanted): Promise<void> {
  const { config, explained } = readConfig(process.env, process.cwd());
  const facts = factsOf(config, { user, roles });
  const unit = renderUnit(facts);
  const name = roles === undefined ? 'quarterdeck.service' : `quarterdeck-${roles.join('-')}.service`;
  if (!write) process.stdout.write(unit);
  else writeUnit(join(unitFolder, name), unit);
  for (const sentence of [...remarksOn(facts, explained), ...nextSteps(name, write)]) tell(sentence);
}

function factsOf(config: Config, { user, roles }: Wanted): UnitFacts {
  return {
    program: programPath(),
    user: user ?? userOf(config.data) ?? usualFacts.user,
    dataDir: config.data,
    configDir: configFolder(),
    roles: roles === undefined ? '' : listRoles(roles).replaceAll(' ', ''),
  };
}

/** As it was typed, so that a link to the newest release stays one. */
function programPath(): string {
  const typed = process.argv0;
  if (typed.startsWith('/') && existsSync(typed)) return typed;
  throw new Stop(
    exitCodes.refused,
    'the path of this program is not known; call it by its own path, such as /opt/quarterdeck/current/quarterdeck',
  );
}

/** Where the settings of this command come from, if from a file. */
function configFolder(): string {
  const named = process.env['QUARTERDECK_CONFIG'];
  if (named) return dirname(named);
  return existsSync(join(process.cwd(), 'quarterdeck.toml')) ? process.cwd() : usualFacts.configDir;
}

/** The owner of the data, by name; undefined for root, and where nothing is there yet. */
function userOf(dataDir: string): string | undefined {
  const uid = statSync(dataDir, { throwIfNoEntry: false })?.uid ?? 0;
  if (uid === 0) return undefined;
  const line = readFileSync('/etc/passwd', 'utf8')
    .split('\n')
    .find((each) => each.split(':')[2] === String(uid));
  return line?.split(':')[0] ?? String(uid);
}

function writeUnit(path: string, unit: string): void {
  const present = existsSync(path) ? readFileSync(path, 'utf8') : undefined;
  if (present !== undefined && present !== unit && !present.includes('Description=Quarterdeck'))
    throw new Stop(exitCodes.refused, `${path} is not Quarterdeck’s; move it away first`);
  try {
    writeFileSync(path, unit, { mode: 0o644 });
  } catch (error) {
    throw new Stop(exitCodes.refused, `${path} cannot be written (${(error as NodeJS.ErrnoException).code}); run this as root`, {
      cause: error,
    });
  }
  tell(`✓ ${path}`);
}

/** What this shell has, and the service has not. */
function remarksOn({ configDir, dataDir, user }: UnitFacts, explained: readonly ExplainedSetting[]): string[] {
  const fromShell = explained.filter(({ origin, key }) => origin === 'environment' && key !== 'data').map(({ env }) => env);
  return [
    ...(fromShell.length > 0
      ? [
          `these settings of this shell are not in the unit: ${fromShell.join(', ')}; put them into ${configDir}/quarterdeck.toml, secrets into ${configDir}/environment`,
        ]
      : []),
    ...(existsSync(dataDir) && statSync(dataDir).uid === 0 && user !== 'root'
      ? [`${dataDir} belongs to root; give it to the service with \`chown -R ${user} ${dataDir}\``]
      : []),
  ];
}

const nextSteps = (name: string, isWritten: boolean): string[] =>
  isWritten
    ? [`next: \`systemctl daemon-reload && systemctl enable --now ${name}\``]
    : [`with --write this goes to ${join(unitFolder, name)}`];
