import { type Command, readCommands } from '../sdk/commands.ts';
import { readThings } from '../sdk/things.ts';
import { commandName } from './command-name.ts';
import { isObject } from './fields.ts';
import { escaped, type Found, foundAs } from './names/find.ts';
import type { Item } from './names/operations.ts';
import { tell } from './tell.ts';

/** Options that make the output one for programs: then nothing is said beside it. */
export interface Addressee {
  json?: boolean;
  only?: string;
  output?: string;
}

export const isForProgram = ({ json, only, output }: Addressee) => Boolean(json || only || (output && !['table', 'wide'].includes(output)));

/** What a create made. Answers that hold only an id are completed by what was sent. */
export function madeBy(command: Command, answer: unknown, input: Item): (Found & { kind: string }) | undefined {
  const creation = readThings().creations[command.operation];
  if (!creation || !isObject(answer)) return undefined;
  const thing = readThings().things[creation.thing]!;
  const item = creation.at ? answer[creation.at] : answer;
  if (!isObject(item) || item[thing.id] === undefined) return undefined;
  return { ...foundAs(thing, { ...input, ...item }), kind: creation.thing };
}

const isPlainWord = (text: string) => /^[A-Za-z0-9@._:/+-]{1,100}$/.test(text) && !text.startsWith('-');

/** How the thing is typed in a next command: by name where a shell takes that as it is. An id that no honest server gives is quoted. */
export const typed = ({ id, name }: Found) => (name && isPlainWord(name) ? name : isPlainWord(id) ? id : inQuotes(escaped(id)));

const inQuotes = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`;

export function describe(word: string, { id, name }: Found): string {
  return name && name !== id ? `${word} ${escaped(name)} (${escaped(id)})` : `${word} ${escaped(id)}`;
}

export const sayMade = (made: Found & { kind: string }): void => tell(`made ${describe(readThings().things[made.kind]!.word, made)}`);

/** What comes after a create. After --wait, commands that would wait for the same are left out. */
export function sayNext(command: Command, made: Found, { isWaited = false } = {}): void {
  const { next } = readThings().creations[command.operation]!;
  for (const words of next.filter((each) => !isWaited || !each.endsWith(' --wait')))
    tell(`next: ${commandName} ${words.replaceAll('{it}', typed(made))}`);
}

/** The command that makes the first thing of a list. */
export function creatorOf(command: Command): string | undefined {
  const { things, creations } = readThings();
  const kind = Object.keys(things).find((each) => things[each]!.list?.operation === command.operation);
  const creation = Object.keys(creations).find((operation) => creations[operation]!.thing === kind);
  const maker = creation && readCommands().commands.find(({ operation }) => operation === creation);
  return maker && `${commandName} ${[...maker.words, ...maker.params.map(({ flag }) => `<${flag}>`)].join(' ')}`;
}
