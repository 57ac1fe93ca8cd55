import { useMemo, useState } from 'preact/hooks';
import type { OncallIncident } from '../../../sdk/browser.ts';
import { act } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { open, query, setQuery } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { type Key, useScreenKeys } from '../../shell/keys.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { acknowledge, incidentKinds, resolve } from './incident-acts.ts';

const filters = [
  { value: '', label: 'Open and acknowledged' },
  { value: 'open', label: 'Open' },
  { value: 'acknowledged', label: 'Acknowledged' },
  { value: 'resolved', label: 'Resolved' },
] as const;

/** Incidents, newest first. Several at once, and by keys: j and k move, x picks, a acknowledges, r resolves, Enter opens. */
export default function Incidents() {
  const status = filters.find(({ value }) => value === query.value.get('status'))?.value ?? '';
  const why = useWhy();
  const reading = useQuery({
    key: ['incidents', status],
    kinds: incidentKinds,
    ask: (client, signal) => client.oncall.listIncidents(status ? { status } : {}, { signal }),
  });
  const [older, setOlder] = useState<{ status: string; rows: OncallIncident[]; cursor: string | undefined }>();
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [current, setCurrent] = useState(0);
  const [asked, setAsked] = useState<readonly OncallIncident[]>();
  const first = reading.data?.incidents ?? [];
  const more = older?.status === status ? older : undefined;
  const rows = useMemo(() => {
    const known = new Set(first.map(({ id }) => id));
    return [...first, ...(more?.rows ?? []).filter(({ id }) => !known.has(id))];
  }, [first, more]);
  const at = Math.min(current, Math.max(0, rows.length - 1));
  const chosen = rows.filter(({ id }) => picked.has(id));
  const aimed = chosen.length ? chosen : rows.slice(at, at + 1);
  const unresolved = aimed.filter((one) => one.status !== 'resolved');
  const waiting = aimed.filter((one) => one.status === 'open');
  const loadMore = async () => {
    const cursor = more ? more.cursor : reading.data?.cursor;
    const next = await act({
      what: 'read older incidents',
      kinds: [],
      work: () => api().oncall.listIncidents({ ...(status ? { status } : {}), ...(cursor ? { cursor } : {}) }),
    });
    if (next) setOlder({ status, rows: [...(more?.rows ?? []), ...next.answer.incidents], cursor: next.answer.cursor });
  };
  const keys = useMemo<Key[]>(
    () => [
      { keys: 'j', what: 'Next incident', act: () => setCurrent(Math.min(at + 1, rows.length - 1)) },
      { keys: 'k', what: 'Incident before', act: () => setCurrent(Math.max(at - 1, 0)) },
      { keys: 'Enter', what: 'Open it', act: () => rows[at] && open(`/oncall/incidents/${rows[at].id}`) },
      { keys: 'x', what: 'Pick it', act: () => rows[at] && setPicked(toggle(picked, rows[at].id)) },
      { keys: 'a', what: 'Acknowledge', act: () => void acknowledge(waiting) },
      { keys: 'r', what: 'Resolve', act: () => unresolved.length && setAsked(unresolved) },
    ],
    [rows, at, picked, waiting, unresolved],
  );
  useScreenKeys(keys);
  const hasMore = more ? more.cursor !== undefined : reading.data?.cursor !== undefined;
  return (
    <Page
      title="Incidents"
      actions={
        <Button kind="primary" why={why('openIncident')} onPress={() => open('/oncall/incidents/new')}>
          Open an incident
        </Button>
      }
      code={[
        { operation: 'listIncidents', input: status ? { status } : {} },
        { operation: 'acknowledgeIncident', params: [aimed[0]?.id ?? '<id>'] },
      ]}
    >
      <div class="toolbar">
        {filters.map(({ value, label }) => (
          <Button
            key={value}
            small
            pressed={value === status}
            onPress={() => {
              setPicked(new Set());
              setQuery('status', value || undefined);
            }}
          >
            {label}
          </Button>
        ))}
      </div>
      {chosen.length > 0 && (
        <div class="toolbar" role="status">
          <span>{chosen.length} picked</span>
          <Button
            small
            why={waiting.length ? why('acknowledgeIncident') : 'None of them waits for it'}
            onPress={() => acknowledge(waiting)}
          >
            Acknowledge
          </Button>
          <Button small why={unresolved.length ? why('resolveIncident') : 'They are resolved'} onPress={() => setAsked(unresolved)}>
            Resolve
          </Button>
          <Button small kind="quiet" onPress={() => setPicked(new Set())}>
            Pick none
          </Button>
        </div>
      )}
      {!reading.data ? (
        <Waiting reading={reading} what="list" />
      ) : rows.length ? (
        <Table
          label="Incidents"
          rows={rows}
          keyOf={({ id }) => id}
          to={({ id }) => `/oncall/incidents/${id}`}
          current={rows[at]?.id}
          selection={{ selected: picked, onSelect: setPicked, nameOf: ({ title }) => title }}
          columns={[
            { head: 'Incident', cell: ({ title }) => title },
            { head: 'State', cell: (one) => <State word={one.status} /> },
            { head: 'Service', cell: ({ serviceName }) => serviceName },
            { head: 'Firing', kind: 'number', cell: ({ firingAlerts }) => firingAlerts || '–' },
            { head: 'Opened', cell: ({ openedAt }) => <Age at={openedAt} long /> },
          ]}
        />
      ) : (
        <Empty
          title={status ? `No incident is ${status}` : 'No incident is open'}
          command="quarterdeck oncall incidents open --service checkout --title 'checkout is slow'"
        >
          A monitor that goes down opens one, so does an alert of Prometheus or Alertmanager, and so can you.
        </Empty>
      )}
      {hasMore && (
        <p>
          <Button onPress={loadMore}>Older ones</Button>
        </p>
      )}
      {asked && (
        <Confirm
          title={asked.length === 1 ? `Resolve “${asked[0]!.title}”?` : `Resolve ${asked.length} incidents?`}
          action="Resolve"
          onClose={() => setAsked(undefined)}
          onConfirm={async () => {
            await resolve(asked);
            setAsked(undefined);
            setPicked(new Set());
          }}
        >
          <p>It is final: what fires afterwards opens a new incident. Pages that are not on their way yet are canceled.</p>
        </Confirm>
      )}
    </Page>
  );
}

function toggle(picked: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(picked);
  if (!next.delete(id)) next.add(id);
  return next;
}
