// The client for pages. Nothing on its path needs Node; the tables become chunks that load when they are asked for.
import type { Commands } from './command-table.ts';
import type { Guard } from './guards.ts';
import type { Things } from './thing-table.ts';

export type { Column, Command, Commands, Field } from './command-table.ts';
export { operations } from './generated/operations.ts';
export * from './guards.ts';
export * from './index.ts';
export * from './states.ts';
export type { Creation, Loss, Thing, Things, Wait, Watch } from './thing-table.ts';
export type { Operation } from './types.ts';
export * from './values.ts';

type Table<T> = { default: T };

/** Every operation as the command line offers it. */
export const loadCommands = async (): Promise<Commands> =>
  ((await import('./generated/commands.json', { with: { type: 'json' } })) as unknown as Table<Commands>).default;

/** What each operation asks of its caller, by its id. */
export const loadGuards = async (): Promise<Record<string, Guard>> =>
  ((await import('./generated/guards.json', { with: { type: 'json' } })) as unknown as Table<Record<string, Guard>>).default;

/** How people name things, and what becomes of them. */
export const loadThings = async (): Promise<Things> =>
  ((await import('./generated/things.json', { with: { type: 'json' } })) as unknown as Table<Things>).default;
