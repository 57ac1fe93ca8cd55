import { type Command as Commander, Option } from 'commander';
import { connectionOptions, defined, rootOptions } from '../command.ts';
import { type CliContext, type ConnectionOptions, call, findConnection } from '../connect.ts';
import { endWithoutOutput, exitCodes, Failure } from '../exit.ts';
import { lookOf, machineTime } from '../output/look.ts';
import { harmless } from '../print.ts';
import { printable } from '../printable.ts';
import { isTryServer, trySentence } from '../try/is-try-server.ts';
import { askStatus } from './ask-status.ts';
import { isWrong, judgeStatus } from './judge-status.ts';
import { layOut } from './words.ts';

interface StatusOptions extends ConnectionOptions {
  output?: string;
  json?: boolean;
  check?: boolean;
}

const pipeWidth = 100;

/** `quarterdeck status` alone: the group keeps its own commands. */
export function registerStatus(status: Commander, here: CliContext) {
  status.description('where you are: servers, what is down, what is nearly full, mail that waits, who is on call; and status pages');
  for (const option of [
    new Option('-o, --output <format>', 'for people, or as data').choices(['table', 'json']),
    new Option('--json', 'the same as -o json'),
    new Option('--check', `end with ${exitCodes.wrong} when something is wrong`),
    ...connectionOptions(),
  ])
    status.addOption(option);
  // A mistyped command of the group gets the group's own refusal, with the nearest name.
  status.allowExcessArguments();
  status.action(async (given: StatusOptions) => {
    if (status.args.length) return (status as Commander & { unknownCommand(): never }).unknownCommand();
    const connection = await findConnection({ ...rootOptions(status), ...defined(given) }, here);
    const [found, isTry] = await Promise.all([
      call(connection, here, {}, (api) => askStatus(api, { server: connection.url, commandLine: here.version })),
      isTryServer(connection.url),
    ]);
    const lines = judgeStatus(found, machineTime());
    const wrong = lines.filter(isWrong);
    process.stdout.on('error', endWithoutOutput);
    const look = lookOf(process.stdout, here.env);
    if (given.json || given.output === 'json')
      process.stdout.write(
        `${harmless(JSON.stringify({ ...found, ...(isTry ? { isTry } : {}), wrong: wrong.map(({ subject, says }) => `${subject}: ${says}`) }, null, 2), look)}\n`,
      );
    else {
      const width = process.stdout.isTTY ? process.stdout.columns : pipeWidth;
      const who = `${found.user} (${found.role ?? 'no role'}) in ${found.organization ?? 'no organization'}`;
      process.stdout.write(`${printable(who)}\n${found.server}${isTry ? `  ${trySentence}` : ''}\n\n${layOut(lines, width)}`);
    }
    if (given.check && wrong.length)
      throw new Failure(exitCodes.wrong, `${wrong.length} ${wrong.length === 1 ? 'thing is' : 'things are'} wrong`);
  });
}
