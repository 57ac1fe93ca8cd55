import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { fieldAt, isObject, type Json } from '../../sdk/browser.ts';
import { callOperation } from '../data/act.ts';
import { type Command, useCommands } from '../data/commands.ts';
import { label } from '../data/form-values.ts';
import { cursorIn } from '../data/pages.ts';
import { open, query, setQuery } from '../data/place.ts';
import { useQuery } from '../data/query.ts';
import { kindsOf, useWhy } from '../data/rights.ts';
import { Button } from './button.tsx';
import { Cell } from './cell.tsx';
import { Empty } from './empty.tsx';
import { OperationDialog } from './operation-dialog.tsx';
import { Page } from './page.tsx';
import { Table } from './table.tsx';
import { Waiting } from './trouble.tsx';

export interface ThingListProps {
  title: string;
  /** The operation that lists, and the parameters of its path. */
  operation: string;
  params?: readonly string[];
  /** Sent with it. */
  input?: Json;
  crumbs?: readonly { to: string; label: string }[];
  /** What makes one, as the main button. */
  create?: string;
  /** The screen that makes one, where it has a screen of its own. */
  createTo?: string;
  /** Where the name of a row leads. */
  to?: (row: Json) => string | undefined;
  /** What can be done to a row: the operation, its words, and its parameters from the row. */
  acts?: readonly RowAct[];
  /** What the things are, for a list that is empty, and the command that makes the first one. */
  about: string;
  example?: string;
  /** Shown above the list. */
  children?: ComponentChildren;
}

export interface RowAct {
  operation: string;
  label: string;
  params(row: Json): string[];
  /** What the form begins with. */
  input?(row: Json): Json;
}

interface Chosen {
  operation: string;
  params: string[] | undefined;
  input: Json;
}

/** A list of things, with the columns of the command line, a filter, and what can be done to each. */
export function ThingList({
  title,
  operation,
  params = [],
  input = {},
  crumbs,
  create,
  createTo,
  to,
  acts = [],
  about,
  example,
  children,
}: ThingListProps) {
  const table = useCommands();
  const why = useWhy();
  const command = table?.byOperation.get(operation);
  const [chosen, setChosen] = useState<Chosen>();
  const text = query.value.get('filter') ?? '';
  const reading = useQuery<unknown>({
    key: [operation, ...params, input],
    kinds: kindsOf(operation),
    ask: () => callOperation(operation, [...params], input),
  });
  const [key, columns] = Object.entries(command?.columns ?? {})[0] ?? ['', []];
  const found = fieldAt(reading.data, key);
  const rows = (Array.isArray(found) ? found : []).filter(isObject);
  const matching = text ? rows.filter((row) => JSON.stringify(row).toLowerCase().includes(text.toLowerCase())) : rows;
  const shown = columns.filter(({ rest }) => !rest);
  const made = create ? table?.byOperation.get(create) : undefined;
  return (
    <Page
      title={title}
      {...(crumbs ? { crumbs } : {})}
      actions={
        create && (
          <Button
            kind="primary"
            why={why(create)}
            onPress={() => (createTo ? open(createTo) : setChosen({ operation: create, params: [...params], input: {} }))}
          >
            {made?.summary ?? 'Add'}
          </Button>
        )
      }
      code={[{ operation, params: [...params], input }, ...(create ? [{ operation: create, params: [...params] }] : [])]}
    >
      {children}
      {(rows.length > filterFrom || text) && (
        <div class="toolbar">
          <input
            type="search"
            aria-label="Filter"
            placeholder="Filter"
            value={text}
            onInput={(event) => setQuery('filter', event.currentTarget.value || undefined)}
          />
          <span class="faint" role="status">
            {matching.length} of {rows.length}
          </span>
        </div>
      )}
      {!command || reading.data === undefined ? (
        <Waiting reading={reading} what="list" />
      ) : rows.length ? (
        <Table<Json>
          label={title}
          rows={matching}
          keyOf={(row) =>
            keyOf(
              row,
              shown.map(({ key: name }) => name),
            )
          }
          {...(to ? { to } : {})}
          columns={[
            ...nameFirst(command, columns).map((column) => ({
              head: column.head ? label(column.head.toLowerCase()) : label(column.key.split('.').at(-1)!),
              cell: (row: Json) => <Cell of={row} column={column} />,
              ...(column.wide ? { kind: 'wide' as const } : {}),
            })),
            ...(acts.length
              ? [
                  {
                    head: 'Act',
                    cell: (row: Json) => (
                      <span class="buttons">
                        {acts.map((each) => (
                          <Button
                            key={each.operation}
                            small
                            why={why(each.operation)}
                            onPress={() =>
                              setChosen({ operation: each.operation, params: each.params(row), input: each.input?.(row) ?? {} })
                            }
                          >
                            {each.label}
                          </Button>
                        ))}
                      </span>
                    ),
                  },
                ]
              : []),
          ]}
        />
      ) : (
        <Empty title="Nothing here yet" {...(example ? { command: example } : {})}>
          {about}
        </Empty>
      )}
      {cursorIn(reading.data) && <p class="note">There are more than these: the command line and the action menu read on, page by page.</p>}
      {chosen && <OperationDialog {...chosen} onClose={() => setChosen(undefined)} />}
    </Page>
  );
}

/** Fewer need no filter. */
const filterFrom = 10;

/** A name before an id: that is what people look for. */
function nameFirst(command: Command, columns: Command['columns'][string]) {
  const shown = columns.filter(({ rest }) => !rest);
  const at = shown.findIndex(({ key }) => /^(name|title|slug|subject|email|address|hostname|url|pattern|host|tag)$/.test(key));
  if (at <= 0 || !command) return shown;
  return [shown[at]!, ...shown.toSpliced(at, 1)];
}

const keyOf = (row: Json, names: readonly string[]): string =>
  String(row['id'] ?? row['keyId'] ?? row['slug'] ?? row['digest'] ?? names.map((name) => String(fieldAt(row, name))).join(' '));
