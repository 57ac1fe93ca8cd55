import { useEffect, useRef, useState } from 'preact/hooks';
import { act, attempt, callOperation } from '../../data/act.ts';
import type { Line } from '../../data/as-code.ts';
import { operationOf, useCommands } from '../../data/commands.ts';
import { cursorIn } from '../../data/pages.ts';
import { query } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { Answer } from '../../ui/answer.tsx';
import { OneLine } from '../../ui/as-code.tsx';
import { Button } from '../../ui/button.tsx';
import { CommandForm } from '../../ui/command-form.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { Words } from '../../ui/words.tsx';

/** Any operation of the API: a form made from the command table, its answer, and the same as code while it is typed. */
export default function DoOperation({ params: { operation: id = '' } }: { params: Record<string, string> }) {
  const table = useCommands();
  const why = useWhy();
  const command = table?.byOperation.get(id);
  const operation = operationOf(id);
  const [answer, setAnswer] = useState<{ of: unknown; params: string[]; input: Record<string, unknown> }>();
  const [line, setLine] = useState<Line>({ operation: id });
  const [asked, setAsked] = useState<{ proceed(isSure: boolean): void }>();
  const given = command?.params.map(({ name }) => query.value.get(name) ?? '') ?? [];
  const isReading = operation?.method === 'GET' && command?.params.length === 0 && !command.streams;
  const run = async (params: string[], input: Record<string, unknown>) => {
    const loss = table?.losses[id];
    if (loss && !(await new Promise<boolean>((proceed) => setAsked({ proceed })).finally(() => setAsked(undefined)))) return;
    setAnswer({ of: await attempt({ what: what(), work: () => callOperation(id, params, input) }), params, input });
  };
  const what = () => command!.summary.slice(0, 1).toLowerCase() + command!.summary.slice(1);
  const cursor = cursorIn(answer?.of);
  const readOn = async () => {
    const { params, input } = answer!;
    const next = await act({ what: what(), work: () => callOperation(id, params, { ...input, cursor }) });
    if (next) setAnswer({ of: next.answer, params, input });
  };
  const shown = useRef<HTMLElement>(null);
  // What was made stands below a form that may be long.
  useEffect(() => {
    if (answer && !isReading) shown.current?.focus();
  }, [answer]);
  const refusal = command && why(id);
  useEffect(() => {
    if (isReading && command && !refusal) run([], {}).catch(() => undefined);
  }, [isReading, id, refusal]);
  if (table && (!command || !operation)) return <Empty title="There is no such operation">Ctrl K lists what there is.</Empty>;
  if (!command) return <p class="faint loading">Loading …</p>;
  const loss = table?.losses[id];
  return (
    <Page title={command.summary}>
      {command.description && (
        <p class="about">
          <Words text={command.description} />
        </p>
      )}
      {refusal && <p class="note attention">{refusal}</p>}
      {command.streams ? (
        <p class="note">The answer is a file or a stream: fetch it by a line below.</p>
      ) : (
        <CommandForm
          command={command}
          start={Object.fromEntries(command.params.map(({ name }, at) => [name, given[at] || undefined]))}
          action={isReading ? 'Ask again' : command.summary}
          why={refusal}
          kind={operation!.method === 'DELETE' ? 'danger' : 'primary'}
          draft={`do ${id}`}
          onSubmit={run}
          onChange={setLine}
        />
      )}
      {answer && (
        <section ref={shown} tabIndex={-1} aria-label="Answer">
          <Answer command={command} answer={answer.of} />
          {cursor !== undefined && (
            <p class="row faint">
              <span>There are more.</span>
              <Button small onPress={readOn}>
                Next page
              </Button>
            </p>
          )}
        </section>
      )}
      <details class="below">
        <summary>As code</summary>
        <OneLine line={line} />
      </details>
      {asked && loss && (
        <Confirm
          title={`${command.summary}?`}
          action={command.summary}
          onConfirm={() => asked.proceed(true)}
          onClose={() => asked.proceed(false)}
        >
          <p>
            You lose {loss.loses}.{loss.forGood ? ' It cannot come back.' : ''}
          </p>
        </Confirm>
      )}
    </Page>
  );
}
