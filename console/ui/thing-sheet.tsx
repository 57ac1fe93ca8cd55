import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { fieldAt, isObject, type Json } from '../../sdk/browser.ts';
import { callOperation } from '../data/act.ts';
import { useCommands } from '../data/commands.ts';
import { useQuery } from '../data/query.ts';
import { kindsOf, useWhy } from '../data/rights.ts';
import { Answer } from './answer.tsx';
import { Button } from './button.tsx';
import { OperationDialog } from './operation-dialog.tsx';
import { Page } from './page.tsx';
import { State } from './state.tsx';
import { Waiting } from './trouble.tsx';

export interface ThingSheetProps {
  /** Until its name is known. */
  title: string;
  operation: string;
  params: readonly string[];
  /** The fields that hold its name and its state. */
  name?: string;
  state?: string;
  crumbs: readonly { to: string; label: string }[];
  /** What can be done to it. */
  acts?: readonly { operation: string; label: string; params?: readonly string[]; input?(thing: Json): Json }[];
  children?: (thing: Json) => ComponentChildren;
}

/** One thing: everything that is known of it, and what can be done to it. */
export function ThingSheet({ title, operation, params, name = 'name', state, crumbs, acts = [], children }: ThingSheetProps) {
  const table = useCommands();
  const why = useWhy();
  const [chosen, setChosen] = useState<{ operation: string; params: string[]; input: Json }>();
  const reading = useQuery<unknown>({
    key: [operation, ...params],
    kinds: kindsOf(operation),
    ask: () => callOperation(operation, [...params], {}),
  });
  const command = table?.byOperation.get(operation);
  const { data } = reading;
  if (!command || !isObject(data))
    return (
      <Page title={title} crumbs={crumbs}>
        <Waiting reading={reading} what="thing" />
      </Page>
    );
  const word = state ? fieldAt(data, state) : undefined;
  return (
    <Page
      title={String(fieldAt(data, name) ?? title)}
      crumbs={crumbs}
      aside={typeof word === 'string' ? <State word={word} /> : undefined}
      actions={acts.map((each) => (
        <Button
          key={each.operation}
          why={why(each.operation, typeof data['id'] === 'string' ? data['id'] : undefined)}
          onPress={() => setChosen({ operation: each.operation, params: [...(each.params ?? params)], input: each.input?.(data) ?? {} })}
        >
          {each.label}
        </Button>
      ))}
      code={[
        { operation, params: [...params] },
        ...acts.map((each) => ({ operation: each.operation, params: [...(each.params ?? params)] })),
      ]}
    >
      <Answer command={command} answer={data} />
      {children?.(data)}
      {chosen && <OperationDialog {...chosen} onClose={() => setChosen(undefined)} />}
    </Page>
  );
}
