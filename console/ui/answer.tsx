import { isEmpty, isObject } from '../../sdk/browser.ts';
import type { Command } from '../data/commands.ts';
import { label } from '../data/form-values.ts';
import { Cell, Written } from './cell.tsx';
import { Code } from './copy.tsx';
import { Sheet } from './sheet.tsx';
import { Table } from './table.tsx';

/** Rows of any list have no key that is known here. */
interface Numbered {
  row: unknown;
  at: number;
}

/** What any operation answered: its lists as tables with the columns of the command line, everything else as a sheet. */
export function Answer({ command, answer }: { command: Command; answer: unknown }) {
  if (answer === undefined) return <p class="note good">Done.</p>;
  if (typeof answer === 'string') return <Code text={answer} />;
  if (!isObject(answer)) return <Code text={JSON.stringify(answer, null, 2)} />;
  const lists = Object.entries(command.columns).filter(([key]) => Array.isArray(answer[key]));
  const rest = Object.entries(answer).filter(([key, value]) => !lists.some(([list]) => list === key) && !isEmpty(value));
  return (
    <>
      {command.secret && <p class="note attention">This is shown once. Copy it now: nothing here keeps it.</p>}
      {rest.length > 0 && (
        <Sheet
          rows={rest.map(([key, value]) => [
            label(key),
            typeof value === 'string' && (command.secret || value.length > 60) ? (
              <Code text={value} label={label(key)} />
            ) : isObject(value) || (Array.isArray(value) && value.some(isObject)) ? (
              <Code text={JSON.stringify(value, null, 2)} label={label(key)} />
            ) : (
              <Written value={value} name={key} />
            ),
          ])}
        />
      )}
      {lists.map(([key, columns]) => {
        const rows = answer[key] as unknown[];
        const shown = columns.filter(({ rest: isRest }) => !isRest);
        return (
          <section key={key}>
            {(lists.length > 1 || rest.length > 0) && <h2>{label(key)}</h2>}
            {rows.length ? (
              <Table<Numbered>
                label={label(key)}
                rows={rows.map((row, at) => ({ row, at }))}
                keyOf={({ at }) => String(at)}
                columns={shown.map((column) => ({
                  head: column.head ? label(column.head.toLowerCase()) : label(column.key.split('.').at(-1)!),
                  cell: ({ row }: Numbered) => <Cell of={row} column={column} />,
                  ...(column.wide ? { kind: 'wide' as const } : {}),
                }))}
              />
            ) : (
              <p class="faint">None.</p>
            )}
          </section>
        );
      })}
    </>
  );
}
