import { join } from 'node:path';
import { type Command as Commander, Option } from 'commander';
import { quarterdeck } from '../../sdk/index.ts';
import { type CliContext, findConnection } from '../connect.ts';
import { endWithoutOutput, exitCodes, Failure, usage } from '../exit.ts';
import { lookOf, machineTime } from '../output/look.ts';
import { harmless } from '../print.ts';
import { follow, readLog } from './log-files.ts';
import { type LogFilter, levels, lineFor, matches } from './log-lines.ts';

interface LogOptions {
  follow?: boolean;
  level?: keyof typeof levels;
  org?: string;
  since?: string;
  lines?: string;
  json?: boolean;
}

const seconds: Record<string, number> = { s: 1, m: 60, h: 3_600, d: 86_400 };

/** The log of the server of this machine, from the files below its data directory. No server is asked. */
export function registerLogs(program: Commander, here: CliContext) {
  program
    .command('logs')
    .description('the log of the server on this machine, the newest lines last')
    .option('-f, --follow', 'go on with new lines until Ctrl-C')
    .addOption(new Option('--level <level>', 'this level and above').choices(Object.keys(levels)))
    .option('--org <slug>', 'only lines of this organization, by its slug or id')
    .option('--since <age>', 'only lines of the last 30s, 15m, 2h or 7d')
    .option('-n, --lines <count>', 'at most this many of the newest lines (default: 200, with --since all)')
    .option('--json', 'the lines as the server wrote them')
    .action(async (given: LogOptions) => {
      const { dataDir } = await here.server();
      const dir = join(dataDir, 'log');
      const filter = filterOf(given, await orgNames(given.org, here));
      const count = countOf(given);
      process.stdout.on('error', endWithoutOutput);
      const look = lookOf(process.stdout, here.env);
      const write = (line: string) => process.stdout.write(given.json ? `${harmless(line, look)}\n` : `${lineFor(line)}\n`);

      const newest: string[] = [];
      const keep = (line: string) => {
        if (!matches(line, filter)) return;
        newest.push(line);
        if (newest.length > count * 2) newest.splice(0, newest.length - count);
      };
      const end = await readLog(dir, keep);
      if (end === undefined) throw new Failure(exitCodes.notFound, missing(dir));
      if (end.half !== undefined && !given.follow) keep(end.half);
      for (const line of newest.slice(-count)) write(line);
      if (given.follow) await follow(dir, end, (line) => matches(line, filter) && write(line));
    });
}

const missing = (dir: string) =>
  `there is no log in ${dir}: set QUARTERDECK_DATA to the data directory of the server; on another machine run this there, in a container read its standard error (docker logs)`;

/** Lines name an organization by its id; a slug becomes that where the server tells it. */
async function orgNames(org: string | undefined, here: CliContext): Promise<string[] | undefined> {
  if (org === undefined) return undefined;
  const { url, token } = await findConnection({}, here, { mayBeInUse: false });
  const told = token
    ? await quarterdeck({ url, token, timeoutMs: 1_000, retries: 0 })
        .organization.getOrganization()
        .catch(() => undefined)
    : undefined;
  return told?.slug === org || told?.id === org ? [told.slug, told.id] : [org];
}

function filterOf({ level, since }: LogOptions, orgs: string[] | undefined): LogFilter {
  const [, amount, unit] = /^(\d{1,6})([smhd])$/.exec(since ?? '') ?? [];
  if (since !== undefined && unit === undefined) usage(`--since takes an age such as 30s, 15m, 2h or 7d, found "${since}"`);
  return {
    minLevel: level ? levels[level] : 0,
    ...(orgs === undefined ? {} : { orgs }),
    ...(unit === undefined ? {} : { from: new Date(machineTime() - Number(amount) * seconds[unit]! * 1000).toISOString() }),
  };
}

const maxLines = 100_000;

function countOf({ lines, since }: LogOptions): number {
  if (lines === undefined) return since === undefined ? 200 : maxLines;
  const count = /^\d{1,6}$/.test(lines) ? Number(lines) : 0;
  return count >= 1 && count <= maxLines ? count : usage(`--lines takes a number from 1 to ${maxLines}, found "${lines}"`);
}
