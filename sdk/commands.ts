import { readFileSync } from 'node:fs';
import type { Commands } from './command-table.ts';

export type * from './command-table.ts';

/** As JSON, apart from the client: parsing it is quick, and only the command line needs it. */
export const readCommands = (): Commands => JSON.parse(readFileSync(new URL('./generated/commands.json', import.meta.url), 'utf8'));
