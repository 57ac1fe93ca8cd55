import { useMemo } from 'preact/hooks';
import { open, query, setQuery } from '../../data/place.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { useTyped } from '../../data/typed.ts';
import { type MonitorRow, useMonitors, useServices } from '../../data/uptime.ts';
import { DayBar } from '../../plots/day-bar.tsx';
import { SparkLine } from '../../plots/spark-line.tsx';
import { useScreenKeys } from '../../shell/keys.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { FilterSelect } from '../../ui/fields.tsx';
import { Page } from '../../ui/page.tsx';
import { useRowKeys } from '../../ui/row-keys.ts';
import { State } from '../../ui/state.tsx';
import { Table, type TableColumn } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { byUrgency, type Condition, conditionOf, conditions, matches } from './condition.ts';

const addCommand =
  'quarterdeck uptime monitors create --name front --kind http --http url=https://shop.example/ --interval-seconds 60 --vantages local';

/** All monitors at one glance, the worst first. */
export default function Monitors() {
  const why = useWhy();
  const reading = useMonitors();
  const { data: services } = useServices({ isOff: !useMay('listUptimeServices') });
  const serviceNames = useMemo(() => new Map(services?.map(({ id, name }) => [id, name])), [services]);
  const filter = useFilter();
  const all = reading.data?.rows;
  const sorted = useMemo(() => all?.toSorted(byUrgency) ?? [], [all]);
  const shown = useMemo(() => sorted.filter((row) => matches(row, filter)), [sorted, filter.text, filter.condition, filter.serviceId]);
  const { current, keys } = useRowKeys(
    useMemo(() => shown.map(({ id }) => id), [shown]),
    'monitor',
  );
  useScreenKeys(useMemo(() => [...keys, { keys: 'n', what: 'Add a monitor', act: () => open('/uptime/monitors/new') }], [keys]));
  const columns = useMemo(() => columnsOf(serviceNames, reading.data?.cellSeconds ?? 0), [serviceNames, reading.data?.cellSeconds]);
  const add = (
    <Button kind="primary" why={why('createMonitor')} onPress={() => open('/uptime/monitors/new')}>
      Add a monitor
    </Button>
  );
  return (
    <Page title="Monitors" actions={all?.length !== 0 && add} code={[{ operation: 'getUptimeSummary' }, { operation: 'listMonitors' }]}>
      {!reading.data ? (
        <Waiting reading={reading} what="monitor" />
      ) : !all?.length ? (
        <Empty title="No monitors yet" action={add} command={addCommand}>
          A monitor asks an address at an interval. When it is down, on-call is paged for its service.
        </Empty>
      ) : (
        <>
          <Filter filter={filter} counts={reading.data.counts} services={services} />
          {reading.data.isCut && <p class="note attention">The newest {all.length} monitors are shown; the command line lists all.</p>}
          {shown.length ? (
            <Table
              look="monitors"
              label="Monitors, the worst first"
              rows={shown}
              keyOf={({ id }) => id}
              columns={columns}
              to={({ id }) => `/uptime/monitors/${id}`}
              current={current}
              isCurrentFocused
            />
          ) : (
            <Empty title="No monitor matches" action={<Button onPress={filter.clear}>Show all monitors</Button>} />
          )}
        </>
      )}
    </Page>
  );
}

interface FilterState {
  text: string;
  condition: Condition | undefined;
  serviceId: string | undefined;
  setText(text: string): void;
  clear(): void;
}

/** The filter is in the address. */
function useFilter(): FilterState {
  const [text, setText] = useTyped('q');
  return {
    text,
    condition: conditions.find((word) => word === query.value.get('state')),
    serviceId: query.value.get('service') ?? undefined,
    setText,
    clear: () => {
      setText('');
      for (const name of ['q', 'state', 'service']) setQuery(name, undefined);
    },
  };
}

interface FilterProps {
  filter: FilterState;
  counts: Record<'up' | 'down' | 'pending' | 'disabled', number>;
  services: readonly { id: string; name: string }[] | undefined;
}

function Filter({ filter, counts, services }: FilterProps) {
  const total = counts.up + counts.down + counts.pending + counts.disabled;
  return (
    <search class="toolbar">
      <input
        type="search"
        aria-label="Name contains"
        placeholder="Name contains …"
        value={filter.text}
        onInput={(event) => filter.setText(event.currentTarget.value)}
      />
      {((services && services.length > 0) || filter.serviceId) && (
        <FilterSelect
          label="Service"
          all="All services"
          value={filter.serviceId ?? ''}
          onChange={(id) => setQuery('service', id)}
          options={[...(services ?? []).map(({ id, name }) => ({ value: id, label: name })), { value: 'none', label: 'In no service' }]}
        />
      )}
      <span class="buttons">
        <Button small pressed={!filter.condition} onPress={() => setQuery('state', undefined)}>
          All {total}
        </Button>
        {conditions.map((condition) => (
          <Button
            key={condition}
            small
            pressed={filter.condition === condition}
            onPress={() => setQuery('state', filter.condition === condition ? undefined : condition)}
          >
            <State word={condition} label={`${condition} ${counts[condition === 'paused' ? 'disabled' : condition]}`} />
          </Button>
        ))}
      </span>
    </search>
  );
}

const columnsOf = (serviceNames: ReadonlyMap<string, string>, cellSeconds: number): TableColumn<MonitorRow>[] => [
  { head: 'Monitor', cell: ({ name }) => <bdi title={name}>{name}</bdi> },
  {
    head: 'State',
    cell: (row) => (
      <>
        <State word={conditionOf(row)} /> <Age at={row.since} />
      </>
    ),
  },
  { head: 'Last 24 hours', cell: ({ bar }) => <DayBar cells={bar} cellSeconds={cellSeconds} /> },
  {
    head: 'Latency',
    kind: 'wide',
    cell: ({ latencyMs, line }) =>
      latencyMs === undefined ? (
        <span class="faint">–</span>
      ) : (
        <span class="latency">
          <SparkLine points={line} label={latencyWords(line)} /> {latencyMs} ms
        </span>
      ),
  },
  {
    head: 'Service',
    kind: 'wide',
    cell: ({ serviceId }) =>
      serviceId ? <bdi title={serviceNames.get(serviceId)}>{serviceNames.get(serviceId) ?? serviceId}</bdi> : <span class="faint">–</span>,
  },
];

function latencyWords(line: readonly (number | null)[]): string {
  const known = line.filter((point) => point !== null);
  if (!known.length) return 'Latency of the last 24 hours: no checks';
  return `Latency of the last 24 hours: ${Math.min(...known)} to ${Math.max(...known)} ms`;
}
