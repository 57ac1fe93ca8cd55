import { type Command, readCommands } from '../sdk/commands.ts';
import { operations } from '../sdk/generated/operations.ts';
import { ApiError, UnreachableError } from '../sdk/index.ts';
import { commandName } from './command-name.ts';
import { exitCodes } from './exit-codes.ts';
import { printable } from './printable.ts';
import { tell } from './tell.ts';

export { exitCodes, meanings } from './exit-codes.ts';

/** What the command line ends with: one sentence and an exit code, no stack trace. A server's words in it do not steer the terminal. */
export class Failure extends Error {
  readonly exitCode: number;

  constructor(exitCode: number, sentence: string) {
    super(printable(sentence));
    this.name = 'Failure';
    this.exitCode = exitCode;
  }
}

export const usage = (sentence: string): never => {
  throw new Failure(exitCodes.usage, sentence);
};

const byStatus: Record<number, number> = {
  401: exitCodes.unauthenticated,
  403: exitCodes.forbidden,
  404: exitCodes.notFound,
  409: exitCodes.conflict,
};

interface Circumstances {
  tokenFrom: string;
  withheld?: string;
  /** Where the address was found, unless the caller typed it. */
  urlFrom?: string;
  /** The command that gets another token. */
  again?: string | undefined;
  /** The command that lists things of the kind that was not found. */
  list?: string | undefined;
  /** The kind of credential that the operation takes instead of a personal token. */
  credential?: string | undefined;
}

/** Says of a failed call what a person needs; anything else stays as it is. */
export function explained(error: unknown, { tokenFrom, withheld, urlFrom, list, credential, again }: Circumstances): unknown {
  if (error instanceof UnreachableError)
    return new Failure(
      exitCodes.unavailable,
      urlFrom ? `${error.message} The address comes from ${urlFrom}; QUARTERDECK_URL or --url names another` : error.message,
    );
  if (!(error instanceof ApiError)) return error;
  const { status, message, requestId } = error;
  const code = byStatus[status] ?? (status >= 500 ? exitCodes.unavailable : exitCodes.refused);
  const hints: Record<number, string | undefined> = {
    401: [
      `the token used is ${again ? 'that of ' : ''}${tokenFrom}`,
      again ? `get another: ${again}` : '',
      credential ? (otherCredentials[credential] ?? '') : '',
    ]
      .filter(Boolean)
      .join('; '),
    404: list && `\`${commandName} ${list}\` shows what there is`,
    409: withheld,
  };
  const hint = hints[status] ? `; ${hints[status]}` : '';
  return new Failure(code, `${inCommands(oneLine(message))}${hint}${requestId ? ` (request id ${requestId})` : ''}`);
}

/** Operations that take no personal token: where theirs come from. */
const otherCredentials: Record<string, string> = {
  mail: `this takes a send key, as --token: \`${commandName} email keys create\` makes one`,
  src: `this takes the token of an alert source, as --token: \`${commandName} oncall alert-sources create\` makes one`,
  scrape: `this takes an export token, as --token: \`${commandName} uptime export-tokens create\` makes one`,
};

/** The server says `GET /api/v1/iam/roles lists them`; here that is a command. */
function inCommands(sentence: string): string {
  const words = sentence.split(' ');
  return words
    .map((word, n) => {
      if (word.startsWith('/api/v1/') && commandAt(words[n - 1], word)) return undefined;
      const command = commandAt(word, words[n + 1]);
      return command ? `\`${commandName} ${command}\`` : word;
    })
    .filter((word) => word !== undefined)
    .join(' ');
}

function commandAt(method: string | undefined, path: string | undefined): string | undefined {
  if (!path?.startsWith('/api/v1/')) return undefined;
  const isRoute = ({ area, operation }: Command) => {
    const route = operations[area]?.[operation];
    return route?.method === method && `/api/v1${route?.path}` === path;
  };
  return readCommands().commands.find(isRoute)?.words.join(' ');
}

const oneLine = (text: string) => printable(text).replaceAll(/\s+/g, ' ');

/** `quarterdeck … | head` ends by closing our output; that is no error. */
export const isClosed = (error: unknown) => (error as NodeJS.ErrnoException).code === 'EPIPE';

/** The command has been carried out by then; only its output is lost. */
export function endWithoutOutput(error: NodeJS.ErrnoException) {
  if (isClosed(error)) return;
  const why = error.code === 'ENOSPC' ? 'there is no space left where it goes' : (error.code ?? error.message);
  tell(`quarterdeck: the output could not be written: ${why}`);
  process.exit(exitCodes.output);
}
