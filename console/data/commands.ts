import { useEffect, useState } from 'preact/hooks';
import { loadCommands, loadThings } from '../../sdk/browser.ts';
import type { CommandTable } from './operations.ts';

export type { Column, Command, Field } from '../../sdk/browser.ts';
export { areaOf, type CommandTable, operationOf } from './operations.ts';

// The command table: each operation with its words, fields and columns. It makes the command line, and here the action menu, the forms of
// operations that have no screen, and the lines "as code". It is loaded when first asked for.

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
