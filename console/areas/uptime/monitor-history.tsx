import type { UptimeFailure, UptimeVantage } from '../../../sdk/browser.ts';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age, Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useFailures, useTransitions } from './readings.ts';
import { errorWords, labelOf } from './words.ts';

interface HistoryProps {
  id: string;
  vantages: readonly UptimeVantage[] | undefined;
}

/** Why it is down, before everything else. */
export function NewestFailure({ id, vantages }: HistoryProps) {
  const newest = useFailures(id).data?.[0];
  if (!newest) return null;
  return (
    <div class="note bad">
      <Said failure={newest} vantage={labelOf(vantages, newest.vantage)} />
      <p class="hint">
        <bdi>{labelOf(vantages, newest.vantage)}</bdi>, <Age at={newest.at} long />
      </p>
    </div>
  );
}

/** The newest failures, with the words of the answer. */
export function Failures({ id, vantages }: HistoryProps) {
  const reading = useFailures(id);
  const failures = reading.data;
  if (!failures) return <Waiting reading={reading} what="monitor" />;
  if (!failures.length) return <p class="faint">No check failed in the last 30 days.</p>;
  return (
    <Table
      label="Failures, the newest first"
      rows={failures}
      keyOf={({ at, vantage, attempt }) => `${at} ${vantage} ${attempt}`}
      columns={[
        { head: 'When', cell: ({ at }) => <Age at={at} long /> },
        { head: 'Vantage', cell: ({ vantage }) => <bdi>{labelOf(vantages, vantage)}</bdi> },
        { head: 'What was wrong', cell: (failure) => <Said failure={failure} vantage={labelOf(vantages, failure.vantage)} /> },
        { head: 'In a row', kind: 'number', cell: ({ attempt }) => attempt },
      ]}
    />
  );
}

const Said = ({ failure: { errorKind, errorDetail, responseSnippet }, vantage }: { failure: UptimeFailure; vantage: string }) => (
  <>
    <strong>{errorWords(errorKind)}</strong>
    {errorDetail && (
      <>
        : <bdi>{errorDetail}</bdi>
      </>
    )}
    {responseSnippet && (
      <details>
        <summary>
          The answer<span class="hidden"> that {vantage} got</span>
        </summary>
        <pre class="answer">{responseSnippet}</pre>
      </details>
    )}
  </>
);

/** Changes of the state, the newest first. */
export function Transitions({ id, vantages }: HistoryProps) {
  const reading = useTransitions(id);
  const transitions = reading.data;
  if (!transitions) return <Waiting reading={reading} what="monitor" />;
  if (!transitions.length) return <p class="faint">Its state has not changed yet.</p>;
  return (
    <Table
      label="Changes of its state, the newest first"
      rows={transitions}
      keyOf={({ at, to }) => `${at} ${to}`}
      columns={[
        { head: 'When', cell: ({ at }) => <Moment at={at} /> },
        { head: 'From', kind: 'wide', cell: ({ from }) => <State word={from} /> },
        { head: 'To', cell: ({ to }) => <State word={to} /> },
        {
          head: 'Failing at',
          cell: ({ failingVantages }) => failingVantages.map((vantage) => labelOf(vantages, vantage)).join(', ') || '–',
        },
      ]}
    />
  );
}
