// The command line without the server: the entry of the package @quarterdeck/cli and of the single file. `npm run build -- cli` bundles it.
import type { Command } from 'commander';
import type { OwnServer } from './connect.ts';
import { usage } from './exit.ts';
import { registerUser } from './index.ts';
import { makeProgram, runProgram } from './program.ts';
import { ownerUrl } from './where/owner-url.ts';

/** Put in by the build. */
declare const buildVersion: string;

const ofTheServer = ['serve', 'probe', 'config', 'admin'];

/** Without these a user would read that the command is unknown, and look for the typo. */
function nameAbsent(program: Command): void {
  for (const name of ofTheServer)
    program
      .command(name, { hidden: true })
      .allowUnknownOption()
      .allowExcessArguments()
      .helpOption(false)
      .action(() =>
        usage(`${name} is a command of the server; this is the command line alone. Run it where Quarterdeck itself is installed`),
      );
}

/** The server of this machine, at the address that it wrote down: in the data directory, else in that of `serve --try` here. */
function ownServer(): OwnServer {
  const chosen = env['QUARTERDECK_DATA'];
  const dataDir = chosen ?? './data';
  const url = ownerUrl(dataDir, { isChosen: chosen !== undefined });
  if (url) return { url, urlFrom: `${dataDir}/owner.url`, dataDir };
  const tried = chosen ? undefined : ownerUrl('./data-try', { isChosen: false });
  if (tried) return { url: tried, urlFrom: './data-try/owner.url', dataDir: './data-try', isFromFolder: true };
  return { url: 'http://127.0.0.1:8080', urlFrom: `the default (there is no ${dataDir}/owner.url)`, dataDir };
}

const program = makeProgram(buildVersion);
const { env } = process;
registerUser(program, { env, version: buildVersion, server: async () => ownServer() }, process.argv.slice(2));
nameAbsent(program);
runProgram(program);
