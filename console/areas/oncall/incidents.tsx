import { useMemo, useRef, useState } from 'preact/hooks';
import type { OncallIncident } from '../../../sdk/browser.ts';
import { firstPages } from '../../data/pages.ts';
import { open, query, setQuery } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { type Key, useScreenKeys } from '../../shell/keys.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FilterSelect } from '../../ui/fields.tsx';
import { Page } from '../../ui/page.tsx';
import { useRowKeys } from '../../ui/row-keys.ts';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { acknowledge, incidentKinds, resolve } from './incident-acts.ts';
import { useOncallServices } from './readings.ts';

const filters = [
  { value: '', label: 'Open and acknowledged' },
  { value: 'open', label: 'Open' },
  { value: 'acknowledged', label: 'Acknowledged' },
  { value: 'resolved', label: 'Resolved' },
] as const;

/** Incidents, newest first. Several at once, and by keys: j and k move, x picks, a acknowledges, r resolves, Enter opens. */
export default function Incidents() {
  const status = filters.find(({ value }) => value === query.value.get('status'))?.value ?? '';
  const serviceId = query.value.get('service') ?? '';
  // Another filter is another list: nothing picked or aimed at is left of the one before.
  return <Listed key={`${status} ${serviceId}`} status={status} serviceId={serviceId} />;
}

function Listed({ status, serviceId }: { status: (typeof filters)[number]['value']; serviceId: string }) {
  const why = useWhy();
  const filter = { ...(status ? { status } : {}), ...(serviceId ? { serviceId } : {}) };
  const { reading, rows, hasMore, loadMore } = useIncidents(filter);
  const [picked, setPicked] = useState<ReadonlySet<string>>(new Set());
  const [asked, setAsked] = useState<readonly OncallIncident[]>();
  const { aimedAt, isWalked, keys: rowKeys } = useAim(rows);
  const chosen = rows.filter(({ id }) => picked.has(id));
  const aimed = chosen.length ? chosen : rows.filter(({ id }) => id === aimedAt);
  const unresolved = aimed.filter((one) => one.status !== 'resolved');
  const waiting = aimed.filter((one) => one.status === 'open');
  const keys = useMemo<Key[]>(
    () => [
      ...rowKeys,
      { keys: 'x', what: 'Pick it', act: () => aimedAt && setPicked(toggle(picked, aimedAt)) },
      { keys: 'a', what: 'Acknowledge', act: () => void acknowledge(waiting) },
      { keys: 'r', what: 'Resolve', act: () => unresolved.length && setAsked(unresolved) },
    ],
    [rowKeys, rows, aimedAt, picked],
  );
  useScreenKeys(keys);
  return (
    <Page
      title="Incidents"
      actions={
        <Button kind="primary" why={why('openIncident')} onPress={() => open('/oncall/incidents/new')}>
          Open an incident
        </Button>
      }
      code={[
        { operation: 'listIncidents', input: filter },
        { operation: 'acknowledgeIncident', params: [aimed[0]?.id ?? '<id>'] },
      ]}
    >
      <search class="toolbar">
        <span class="buttons">
          {filters.map(({ value, label }) => (
            <Button key={value} small pressed={value === status} onPress={() => setQuery('status', value || undefined)}>
              {label}
            </Button>
          ))}
        </span>
        <ServiceFilter serviceId={serviceId} />
      </search>
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
          current={aimedAt}
          isCurrentFocused={isWalked}
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
          title={`No incident ${serviceId ? 'of this service ' : ''}is ${status || 'open'}`}
          {...(serviceId ? { action: <Button onPress={() => setQuery('service', undefined)}>Show all services</Button> } : {})}
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

/** Everything that was loaded is asked for again after a hint: a row of an older page changes too. */
function useIncidents(filter: { status?: OncallIncident['status']; serviceId?: string }) {
  const pages = useRef(1);
  const reading = useQuery({
    key: ['incidents', filter.status, filter.serviceId],
    kinds: incidentKinds,
    ask: async (client, signal) => {
      const { answers } = await firstPages(client.oncall.listIncidents.pages(filter, { signal }), pages.current);
      return { rows: answers.flatMap(({ incidents }) => incidents), pages: answers.length, hasMore: answers.at(-1)?.cursor !== undefined };
    },
  });
  const { data } = reading;
  const loadMore = () => {
    pages.current = (data?.pages ?? 1) + 1;
    return reading.again();
  };
  return { reading, rows: data?.rows ?? none, hasMore: data?.hasMore ?? false, loadMore };
}

const none: readonly OncallIncident[] = [];

/**
 * The row that keys act on: the one that was walked to, or the first one as the list was opened. It stays the same incident while others come
 * and go; once it is gone, nothing is aimed at until the person walks on.
 */
function useAim(rows: readonly OncallIncident[]) {
  const ids = useMemo(() => rows.map(({ id }) => id), [rows]);
  const [start, setStart] = useState<string>();
  if (start === undefined && ids.length) setStart(ids[0]);
  const { current, keys } = useRowKeys(ids, 'incident', start);
  const aim = current ?? start;
  return { aimedAt: ids.find((id) => id === aim), isWalked: current !== undefined, keys };
}

/** A service whose name may not be read, or that is gone, is named by its id. */
function ServiceFilter({ serviceId }: { serviceId: string }) {
  const { data } = useOncallServices({ isOff: !useMay('listOncallServices') });
  const services = data?.services ?? [];
  if (!services.length && !serviceId) return null;
  return (
    <FilterSelect
      label="Service"
      all="All services"
      value={serviceId}
      onChange={(id) => setQuery('service', id)}
      options={services.map(({ id, name }) => ({ value: id, label: name }))}
    />
  );
}

function toggle(picked: ReadonlySet<string>, id: string): ReadonlySet<string> {
  const next = new Set(picked);
  if (!next.delete(id)) next.add(id);
  return next;
}
