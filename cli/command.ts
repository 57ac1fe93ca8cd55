import { type Command as Commander, Option } from 'commander';
import type { Command, Field } from '../sdk/commands.ts';
import { readThings } from '../sdk/things.ts';
import { aliasesOf, flagOf } from './aliases.ts';
import { commandName } from './command-name.ts';
import { type CliContext, type Connection, type ConnectionOptions, call, findConnection } from './connect.ts';
import { usage } from './exit.ts';
import { creatorOf } from './feedback.ts';
import { isNested, placeholder, type Raw } from './fields.ts';
import { inputOf, type Whole } from './input.ts';
import { followEvents } from './live.ts';
import { type Manner, maxSlices, perform } from './perform.ts';
import { type PrintOptions, print, printStream, shownOptions, silentOptions } from './print.ts';
import { unitExample } from './units.ts';
import { timeoutOf } from './wait.ts';
import { redraw } from './watch.ts';
import { requireEveryonePaged } from './where/verdict.ts';

type Given = ConnectionOptions & PrintOptions & Whole & { all?: boolean; yes?: boolean; watch?: boolean; wait?: boolean; timeout?: string };

/** Options under another name of their field: taken, but neither listed nor completed. */
export const aliasOptions = new WeakSet<Option>();

/** One operation as a command. A field that has the name of a general option takes its place: the general one still works before the area. */
export function addCommand(parent: Commander, command: Command, here: CliContext) {
  const { words, summary, description, params } = command;
  const argument = command.fields.find(({ name }) => name === command.argument);
  const fields = command.fields.filter((field) => field !== argument);
  const added = parent
    .command(words.at(-1)!)
    .summary(summary)
    .description(description ? `${summary}. ${description}` : summary)
    .showHelpAfterError(`(see ${commandName} ${words.join(' ')} --help)`);
  for (const param of params) added.argument(`<${param.flag}>`, [param.description, nameHint(param)].filter(Boolean).join('; '));
  if (argument) added.argument(`<${argument.flag}>`, argument.description);

  const general = generalOptions(command).filter((option) => !fields.some((field) => field.flag === option.name()));
  const taken = new Set([...fields.map((field) => field.flag), ...general.map((option) => option.name()), 'help', 'version']);
  added.optionsGroup('Fields:');
  const options = fields.map((field) => ({ field, options: addField(added, field, taken) }));
  added.optionsGroup('Options:');
  for (const option of general) added.addOption(option);

  added.action(async (...args: unknown[]) => {
    const values = added.opts<Record<string, Raw>>();
    const flags = new Map(
      options.flatMap(({ field, options: names }) => {
        const given = names.flatMap((option) => values[option.attributeName()] ?? []);
        return given.length ? [[field.name, field.list || field.type === 'record' ? (given as string[]) : given.at(-1)!] as const] : [];
      }),
    );
    if (argument) flags.set(argument.name, args[params.length] as Raw);
    const own = Object.fromEntries(general.map((option) => [option.attributeName(), values[option.attributeName()]]));
    await run(command, args.slice(0, params.length) as string[], flags, { ...rootOptions(added), ...defined(own) }, here);
  });
}

function generalOptions(command: Command): Option[] {
  const { losses, waits } = readThings();
  return [
    ...(command.body
      ? [
          new Option('--body <json>', 'all fields at once: JSON, @file, or - for standard input'),
          new Option('-f, --file <file>', 'all fields from a file of YAML or JSON, names and units as in flags; - for standard input'),
        ]
      : []),
    ...(command.paged ? [new Option('--all', `every slice of the list, not only the first; at most ${maxSlices}`)] : []),
    ...(isLook(command) ? [new Option('-w, --watch', 'show it again every 2 s, on a terminal, until Ctrl-C').conflicts('wait')] : []),
    ...(losses[command.operation] ? [new Option('-y, --yes', 'without a question')] : []),
    ...(waits[command.operation]
      ? [
          new Option('--wait', `until it is ${doneWords(command.operation)}, with progress`),
          new Option('--timeout <duration>', 'how long --wait waits; 10m unless told'),
        ]
      : []),
    ...(command.endless ? [new Option('--json', 'each event as a line of JSON')] : []),
    ...(command.streams ? [] : command.silent ? silentOptions() : shownOptions(command)),
    ...connectionOptions(),
  ];
}

const isLook = ({ operation, streams, silent }: Command) => /^(?:list|get)[A-Z]/.test(operation) && !streams && !silent;

function doneWords(operation: string): string {
  const { waits, watches } = readThings();
  const { watch, gone } = waits[operation]!;
  return gone ? 'gone' : watches[watch]!.done[0]!;
}

/** How else a thing may be named, for help. */
function nameHint({ thing }: Field): string {
  if (typeof thing !== 'string') return '';
  const { prefix, names = [], alsoIds = [] } = readThings().things[thing]!;
  return prefix === undefined ? '' : [...names, 'id', ...alsoIds, '@last'].join(', ').replace(/, (\S+)$/, ' or $1');
}

async function run(command: Command, params: string[], flags: Map<string, Raw>, given: Given, here: CliContext) {
  const odd = command.params.find((_, i) => ['', '.', '..'].includes(params[i]!));
  if (odd) usage(`<${odd.flag}> names nothing`);
  if (given.timeout !== undefined && !given.wait) usage('--timeout says how long --wait waits; give --wait too');
  const manner: Manner = {
    ...given,
    ...(given.wait ? { waitMs: timeoutOf(given.timeout) } : {}),
  };
  const input = await inputOf(command, flags, given);
  const connection = await findConnection(given, here);
  const show = (answer: unknown) =>
    // A list that a flag narrowed may be empty for that alone.
    print(answer as Record<string, unknown> | undefined, { ...command, creator: flags.size ? undefined : creatorOf(command) }, given);
  const ask = () =>
    call(connection, here, command, (api) => perform({ api, command, params, input, manner, env: here.env, url: connection.url }));
  if (command.endless) return followEvents({ ask: async () => (await ask()).answer as Response, json: given.json });
  const { answer, say, failure } = given.watch ? await redraw(ask, ({ answer }) => show(answer)) : await ask();
  if (answer instanceof Response) return printStream(answer);
  show(answer);
  say?.();
  if (failure) throw failure;
  if (command.operation === 'examineOncall') await endWithVerdict(command, answer as Record<string, unknown>, connection, here);
}

/** Reads on behind the printed page; nothing more is printed. */
const endWithVerdict = (command: Command, answer: Record<string, unknown>, connection: Connection, here: CliContext) =>
  call(connection, here, command, (api) => requireEveryonePaged(answer, (cursor) => api.oncall.examineOncall.pages({ cursor })));

/** A key of an object, and how its value is written if that is not plain. */
function keyOf(field: Field): string {
  const name = `${field.name}${field.required ? '' : '?'}`;
  if (!isNested(field)) return name;
  const inner = (field.fields ?? []).map((f) => f.name).join(', ');
  return `${name} as JSON and last${inner && `, of ${inner}`}`;
}

function addField(added: Commander, field: Field, taken: Set<string>): Option[] {
  const { flag, type, description = '', required, list, nullable, choices, fields } = field;
  const hints = [
    required ? 'required' : '',
    nullable ? 'null to clear' : '',
    type === 'boolean' && !list ? `or --no-${flag}` : '',
    fields ? `keys: ${fields.map(keyOf).join(', ')}` : '',
    list && choices ? `of ${choices.join(', ')}` : '',
    list ? (type === 'object' ? 'repeat for more' : 'commas or repeat') : '',
    unitExample(field) ? `or ${unitExample(field)}` : '',
    typeof field.thing === 'string' ? nameHint(field) : '',
  ].filter(Boolean);
  const words = [description, hints.length ? `(${hints.join('; ')})` : ''].filter(Boolean).join(' ');
  const isSwitch = type === 'boolean' && !list;
  const makeOption = (name: string) => {
    const option = new Option(isSwitch ? `--${name}` : `--${name} <${placeholder(field)}>`, words);
    if (choices && !list) option.choices(choices);
    if (list || type === 'record') option.argParser((text: string, before: string[] | undefined) => [...(before ?? []), text]);
    added.addOption(option);
    return option;
  };
  const option = makeOption(flag);
  if (isSwitch) {
    added.addOption(new Option(`--no-${flag}`).hideHelp());
    return [option];
  }
  const aliases = aliasesOf(field)
    .map(flagOf)
    .filter((alias) => !taken.has(alias));
  return [
    option,
    ...aliases.map((alias) => {
      taken.add(alias);
      const other = makeOption(alias).hideHelp();
      aliasOptions.add(other);
      return other;
    }),
  ];
}

export const connectionOptions = () => [
  new Option('--url <url>', 'the server; default: QUARTERDECK_URL, your login, then this machine'),
  new Option('--token <token>', 'default: QUARTERDECK_TOKEN, your login, then data/owner.token; each for its own server only'),
  new Option('--profile <name>', 'a login of `profile list`; default: QUARTERDECK_PROFILE, then the one in use'),
];

/** What was given before the area: `quarterdeck --url … tokens list`. */
export function rootOptions(command: Commander): ConnectionOptions {
  return command.parent ? rootOptions(command.parent) : command.opts();
}

export const defined = <T extends object>(options: T): Partial<T> =>
  Object.fromEntries(Object.entries(options).filter(([, v]) => v !== undefined)) as Partial<T>;
