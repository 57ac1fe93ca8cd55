import { type Command, readCommands } from '../../sdk/commands.ts';
import type { Api, CallOptions } from '../../sdk/index.ts';

export type Item = Record<string, unknown>;
type Call = (...args: unknown[]) => Promise<unknown>;

let byOperation: Map<string, Command> | undefined;

export function commandOf(operation: string): Command {
  byOperation ??= new Map(readCommands().commands.map((command) => [command.operation, command]));
  return byOperation.get(operation)!;
}

/** Calls an operation by its name, as the tables have it. */
export async function ask(api: Api, operation: string, params: string[], input: Item = {}, options: CallOptions = {}): Promise<unknown> {
  const command = commandOf(operation);
  const call = (api as unknown as Record<string, Record<string, Call>>)[command.area]![operation]!;
  return call(...params, ...(command.fields.length || command.body ? [input] : []), options);
}
