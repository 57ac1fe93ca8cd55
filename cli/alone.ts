// The command line without the server: the entry of the package @quarterdeck/cli and of the single file. `npm run build -- cli` bundles it.
import type { Command } from 'commander';
import { usage } from './exit.ts';
import { registerUser } from './index.ts';
import { makeProgram, runProgram } from './program.ts';

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

const program = makeProgram(buildVersion);
const { env } = process;
const own = { url: 'http://127.0.0.1:8080', dataDir: env['QUARTERDECK_DATA'] ?? './data' };
registerUser(program, { env, version: buildVersion, server: async () => own }, process.argv.slice(2));
nameAbsent(program);
runProgram(program);
