import { useState } from 'preact/hooks';
import type { Json } from '../../sdk/browser.ts';
import { attempt, callOperation } from '../data/act.ts';
import type { Line } from '../data/as-code.ts';
import { operationOf, useCommands } from '../data/commands.ts';
import { typedOf } from '../data/form-values.ts';
import { kindsOf, useWhy } from '../data/rights.ts';
import { Answer } from './answer.tsx';
import { OneLine } from './as-code.tsx';
import { CommandForm } from './command-form.tsx';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';
import { Words } from './words.tsx';

interface OperationDialogProps {
  operation: string;
  params: string[] | undefined;
  input: Json;
  onClose(): void;
}

/** An operation on what a screen shows: its form, what will be lost, its answer, and the same as code. */
export function OperationDialog({ operation: id, params, input, onClose }: OperationDialogProps) {
  const table = useCommands();
  const why = useWhy();
  const command = table?.byOperation.get(id);
  const [answer, setAnswer] = useState<{ of: unknown }>();
  const [typedName, setTypedName] = useState('');
  const [line, setLine] = useState<Line>({ operation: id, ...(params ? { params } : {}) });
  if (!table || !command) return null;
  const loss = table.losses[id];
  const lastField = loss?.fields?.at(-1);
  // The confirmation on the command line asks for the same name.
  const name = loss?.forGood ? String((lastField === undefined ? params?.at(-1) : line.input?.[lastField]) ?? '') : '';
  const notTyped = name && typedName.trim() !== name ? `Type ${name} first` : undefined;
  const isDelete = operationOf(id)?.method === 'DELETE';
  const run = async (given: string[], fields: Json) => {
    const what = command.summary.slice(0, 1).toLowerCase() + command.summary.slice(1);
    const of = await attempt({ what, done: `Done: ${what}`, kinds: kindsOf(id), work: () => callOperation(id, given, fields) });
    if (of === undefined) return onClose();
    setAnswer({ of });
  };
  return (
    <Dialog title={command.summary} onClose={onClose} wide>
      {command.description && (
        <p class="about">
          <Words text={command.description} />
        </p>
      )}
      {loss && (
        <p class="note attention">
          You lose {loss.loses}.{loss.forGood ? ' It cannot come back.' : ''}
        </p>
      )}
      {answer ? (
        <Answer command={command} answer={answer.of} />
      ) : (
        <CommandForm
          command={command}
          params={params}
          start={typedOf(command.fields, input)}
          action={command.summary}
          why={why(id) ?? notTyped}
          kind={isDelete || loss ? 'danger' : 'primary'}
          onCancel={onClose}
          onSubmit={run}
          onChange={setLine}
        >
          {name && <TextField label={`Type ${name} to confirm`} value={typedName} onChange={setTypedName} />}
        </CommandForm>
      )}
      <details class="below">
        <summary>As code</summary>
        <OneLine line={line} />
      </details>
    </Dialog>
  );
}
