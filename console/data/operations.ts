import { type Command, type Commands, type Operation, operations, type Things } from '../../sdk/browser.ts';

// The operations by their ids. Pure: what is made from them is tested without a browser.

/** Each operation with its words, fields and columns, and the things that these name. */
export interface CommandTable extends Commands, Things {
  byOperation: Map<string, Command>;
}

const byId = new Map(Object.values(operations).flatMap((area) => Object.entries(area)));
const areaById = new Map(Object.entries(operations).flatMap(([area, table]) => Object.keys(table).map((id) => [id, area])));

export const operationOf = (id: string): Operation | undefined => byId.get(id);
export const areaOf = (id: string): string | undefined => areaById.get(id);
