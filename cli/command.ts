import { type Command as Commander, Option } from 'commander';
import type { Command, Field } from '../sdk/commands.ts';
import { type CliContext, type Connection, type ConnectionOptions, call, findConnection } from './connect.ts';
import { usage } from './exit.ts';
import { isNested, placeholder, type Raw } from './fields.ts';
import { inputOf } from './input.ts';
import { type PrintOptions, print, printStream, shownOptions, silentOption } from './print.ts';
import { requireEveryonePaged } from './where/verdict.ts';

type Call = ((...args: unknown[]) => Promise<unknown>) & { pages(...args: unknown[]): AsyncGenerator<Record<string, unknown>> };
type Given = ConnectionOptions & PrintOptions & { body?: string; all?: boolean };

/** One operation as a command. A field that has the name of a general option takes its place: the general one still works before the area. */
export function addCommand(parent: Commander, command: Command, here: CliContext) {
  const { words, summary, description, params, fields } = command;
  const added = parent
    .command(words.at(-1)!)
    .summary(summary)
    .description(description ? `${summary}. ${description}` : summary)
    .showHelpAfterError(`(see quarterdeck ${words.join(' ')} --help)`);
  for (const param of params) added.argument(`<${param.flag}>`, param.description ?? '');

  added.optionsGroup('Fields:');
  const options = fields.map((field) => ({ field, option: addField(added, field) }));
  added.optionsGroup('Options:');
  const general = [
    ...(command.body ? [new Option('--body <json>', 'all fields at once: JSON, @file, or - for standard input')] : []),
    ...(command.paged ? [new Option('--all', 'every slice of the list, not only the first')] : []),
    ...(command.streams ? [] : command.silent ? [silentOption()] : shownOptions()),
    ...connectionOptions(),
  ].filter((option) => !fields.some((field) => field.flag === option.name()));
  for (const option of general) added.addOption(option);

  added.action(async (...args: unknown[]) => {
    const values = added.opts<Record<string, Raw>>();
    const flags = new Map(
      options.flatMap(({ field, option }) =>
        values[option.attributeName()] === undefined ? [] : [[field.name, values[option.attributeName()]!] as const],
      ),
    );
    const own = Object.fromEntries(general.map((option) => [option.attributeName(), values[option.attributeName()]]));
    await run(command, args.slice(0, params.length) as string[], flags, { ...rootOptions(added), ...defined(own) }, here);
  });
}

async function run(command: Command, params: string[], flags: Map<string, Raw>, given: Given, here: CliContext) {
  const odd = command.params.find((_, i) => ['', '.', '..'].includes(params[i]!));
  if (odd) usage(`<${odd.flag}> names nothing`);
  const input = await inputOf(command, flags, given.body);
  const args = command.fields.length || command.body ? [...params, input] : params;
  const connection = await findConnection(given, here);
  const answer = await call(connection, here, command, async (api) => {
    const operation = (api as unknown as Record<string, Record<string, Call>>)[command.area]![command.operation]!;
    return given.all ? joined(operation.pages(...args), command) : operation(...args);
  });
  if (answer instanceof Response) return printStream(answer);
  print(answer as Record<string, unknown> | undefined, command, given);
  if (command.operation === 'examineOncall') await endWithVerdict(command, answer as Record<string, unknown>, connection, here);
}

/** Reads on behind the printed page; nothing more is printed. */
const endWithVerdict = (command: Command, answer: Record<string, unknown>, connection: Connection, here: CliContext) =>
  call(connection, here, command, (api) => requireEveryonePaged(answer, (cursor) => api.oncall.examineOncall.pages({ cursor })));

/** All slices as one answer. */
async function joined(slices: AsyncGenerator<Record<string, unknown>>, { columns }: Command) {
  const list = Object.keys(columns)[0]!;
  const items: unknown[] = [];
  for await (const slice of slices) items.push(...(slice[list] as unknown[]));
  return { [list]: items };
}

/** A key of an object, and how its value is written if that is not plain. */
function keyOf(field: Field): string {
  const name = `${field.name}${field.required ? '' : '?'}`;
  if (!isNested(field)) return name;
  const inner = (field.fields ?? []).map((f) => f.name).join(', ');
  return `${name} as JSON and last${inner && `, of ${inner}`}`;
}

function addField(added: Commander, field: Field): Option {
  const { flag, type, description = '', required, list, nullable, choices, fields } = field;
  const hints = [
    required ? 'required' : '',
    nullable ? 'null to clear' : '',
    type === 'boolean' && !list ? `or --no-${flag}` : '',
    fields ? `keys: ${fields.map(keyOf).join(', ')}` : '',
    list && choices ? `of ${choices.join(', ')}` : '',
    list ? (type === 'object' ? 'repeat for more' : 'commas or repeat') : '',
  ].filter(Boolean);
  const words = [description, hints.length ? `(${hints.join('; ')})` : ''].filter(Boolean).join(' ');
  const isSwitch = type === 'boolean' && !list;
  const option = new Option(isSwitch ? `--${flag}` : `--${flag} <${placeholder(field)}>`, words);
  if (choices && !list) option.choices(choices);
  if (list || type === 'record') option.argParser((text: string, before: string[] | undefined) => [...(before ?? []), text]);
  added.addOption(option);
  if (isSwitch) added.addOption(new Option(`--no-${flag}`).hideHelp());
  return option;
}

export const connectionOptions = () => [
  new Option('--url <url>', 'the server; default: QUARTERDECK_URL, then the one of this machine'),
  new Option('--token <token>', 'default: QUARTERDECK_TOKEN, then data/owner.token; each goes to its own server only'),
];

/** What was given before the area: `quarterdeck --url … tokens list`. */
export function rootOptions(command: Commander): ConnectionOptions {
  return command.parent ? rootOptions(command.parent) : command.opts();
}

export const defined = <T extends object>(options: T): Partial<T> =>
  Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)) as Partial<T>;
