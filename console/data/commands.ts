import { useEffect, useState } from 'preact/hooks';
import { type Command, type Commands, loadCommands, loadThings, type Operation, operations, type Things } from '../../sdk/browser.ts';

export type { Column, Command, Field } from '../../sdk/browser.ts';

// The command table: each operation with its words, fields and columns. It makes the command line, and here the action menu, the forms of
// operations that have no screen, and the lines "as code". It is loaded when first asked for.

export interface CommandTable extends Commands, Things {
  byOperation: Map<string, Command>;
}

let loading: Promise<CommandTable> | undefined;
let loaded: CommandTable | undefined;

export function loadTable(): Promise<CommandTable> {
  loading ??= Promise.all([loadCommands(), loadThings()]).then(
    ([table, things]) => {
      loaded = { ...things, ...table, byOperation: new Map(table.commands.map((command) => [command.operation, command])) };
      return loaded;
    },
    (error) => {
      loading = undefined;
      throw error;
    },
  );
  return loading;
}

/** Undefined until it is there. */
export function useCommands(): CommandTable | undefined {
  const [table, show] = useState(loaded);
  useEffect(() => {
    if (!table) loadTable().then(show, () => undefined);
  }, [table]);
  return table;
}

const byId = new Map(Object.values(operations).flatMap((area) => Object.entries(area)));
const areaById = new Map(Object.entries(operations).flatMap(([area, table]) => Object.keys(table).map((id) => [id, area])));

export const operationOf = (id: string): Operation | undefined => byId.get(id);
export const areaOf = (id: string): string | undefined => areaById.get(id);
