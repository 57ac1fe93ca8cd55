import { useState } from 'preact/hooks';
import { act, leave } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { now } from '../../data/clock.ts';
import { open } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { useMonitors, useServices } from '../../data/uptime.ts';
import { DayBar } from '../../plots/day-bar.tsx';
import { Days } from '../../plots/days.tsx';
import { Button } from '../../ui/button.tsx';
import { duration } from '../../ui/cell.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Value } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age, Moment, written } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { byUrgency, conditionOf } from './condition.ts';
import { NameService } from './name-service.tsx';
import { useMaintenance } from './readings.ts';

/** One service: 90 days, the months, and the monitors that watch it. */
export default function Service({ params: { id = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const refusal = why('getServiceAvailability', id);
  const list = useServices({ isOff: !useMay('listUptimeServices') });
  const availability = useAvailability(id, !useMay('getServiceAvailability') || refusal !== undefined);
  const service = list.data?.find((one) => one.id === id);
  if (!service && !availability.data)
    return (
      <Page title="Service" crumbs={crumbs}>
        {refusal ? (
          <>
            <p class="note attention">{refusal}</p>
            <Elsewhere id={id} />
          </>
        ) : (
          <Waiting reading={availability} what="service" />
        )}
      </Page>
    );
  const name = service?.name ?? 'Service';
  const state = availability.data?.state;
  return (
    <Page
      title={name}
      crumbs={crumbs}
      aside={state && <State word={state} />}
      actions={<Actions id={id} name={name} />}
      code={[{ operation: 'getServiceAvailability', params: [id] }, { operation: 'listMaintenance' }]}
    >
      <h2>Availability</h2>
      {refusal ? <p class="faint">{refusal}</p> : <Availability name={name} reading={availability} />}
      <h2>Monitors</h2>
      <Monitors id={id} />
      <p class="buttons">
        <Button why={why('createMonitor')} onPress={() => open(`/uptime/monitors/new?service=${id}`)}>
          Add a monitor
        </Button>
        <Button why={why('createMaintenance', id)} onPress={() => open(`/uptime/maintenance/new?service=${id}`)}>
          Plan maintenance
        </Button>
      </p>
      <Planned id={id} />
      <Elsewhere id={id} />
    </Page>
  );
}

/** What people of on-call alone look for here. */
const Elsewhere = ({ id }: { id: string }) => (
  <>
    <h2>Elsewhere</h2>
    <ul>
      <li>
        <Link to={`/oncall/incidents?service=${id}`}>Incidents</Link>
      </li>
      <li>
        <Link to="/oncall/services">Who is paged for it</Link>
      </li>
      <li>
        Id: <Value text={id} />
      </li>
    </ul>
  </>
);

const crumbs = [{ to: '/uptime/services', label: 'Services' }];

const useAvailability = (id: string, isOff: boolean) =>
  useQuery({
    key: ['uptime', 'availability', id],
    kinds: ['uptime.service', 'uptime.monitor'],
    isOff,
    ask: (api, signal) => api.uptime.getServiceAvailability(id, { signal }),
  });

function Availability({ name, reading }: { name: string; reading: ReturnType<typeof useAvailability> }) {
  const { data } = reading;
  if (!data) return <Waiting reading={reading} what="service" />;
  if (!data.days.length) return <p class="faint">No monitor has watched it yet.</p>;
  return (
    <>
      {data.countedFrom && (
        <p class="note attention">
          Its monitors changed so often that only what was after <Moment at={data.countedFrom} /> is counted.
        </p>
      )}
      <Days label={`Availability of ${name}`} days={data.days} today={new Date(now.value).toISOString().slice(0, 10)} />
      <Table
        look="plain"
        label="Months"
        rows={data.months.toReversed()}
        keyOf={({ month }) => month}
        columns={[
          { head: 'Month (UTC)', cell: ({ month }) => written(`${month}-01`, { month: 'long', year: 'numeric', timeZone: 'UTC' }) },
          { head: 'Available', kind: 'number', cell: ({ uptimePct }) => `${uptimePct} %` },
          { head: 'Down for', kind: 'number', cell: ({ downSeconds }) => (downSeconds ? duration(downSeconds) : '–') },
          { head: 'Watched for', kind: 'wide', cell: ({ watchedSeconds }) => duration(watchedSeconds) },
        ]}
      />
    </>
  );
}

function Monitors({ id }: { id: string }) {
  const why = useWhy();
  const refusal = why('getUptimeSummary');
  const reading = useMonitors({ isOff: !useMay('getUptimeSummary') });
  if (refusal) return <p class="faint">{refusal}</p>;
  if (!reading.data) return <Waiting reading={reading} what="service" />;
  const { cellSeconds, rows } = reading.data;
  const its = rows.filter(({ serviceId }) => serviceId === id).toSorted(byUrgency);
  if (!its.length) return <Empty title="No monitor watches it">Add one, so that an outage is seen before customers tell of it.</Empty>;
  return (
    <Table
      look="monitors"
      label="Monitors of the service"
      rows={its}
      keyOf={(row) => row.id}
      to={(row) => `/uptime/monitors/${row.id}`}
      columns={[
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
        { head: 'Latency', kind: 'wide', cell: ({ latencyMs }) => (latencyMs === undefined ? '–' : `${latencyMs} ms`) },
      ]}
    />
  );
}

/** Maintenance that is under way or ahead. */
function Planned({ id }: { id: string }) {
  const { data } = useMaintenance();
  const its = data?.filter(({ serviceId, endsAt }) => serviceId === id && Date.parse(endsAt) > now.value) ?? [];
  if (!its.length) return null;
  return (
    <>
      <h2>Maintenance</h2>
      <ul>
        {its.map((window) => (
          <li key={window.id}>
            <bdi>{window.title}</bdi>: <Moment at={window.startsAt} /> to <Moment at={window.endsAt} />
          </li>
        ))}
      </ul>
      <p>
        <Link to={`/uptime/maintenance?service=${id}`}>Call it off</Link>
      </p>
    </>
  );
}

function Actions({ id, name }: { id: string; name: string }) {
  const why = useWhy();
  const [asked, setAsked] = useState<'name' | 'loss'>();
  const close = () => setAsked(undefined);
  const remove = async () => {
    const done = await act({
      what: `delete the service ${name}`,
      done: `${name} is deleted`,
      kinds: [],
      work: () => api().uptime.deleteUptimeService(id),
    });
    if (done) leave('/uptime/services', ['uptime.service', 'oncall.service']);
    else close();
  };
  return (
    <>
      <Button why={why('renameUptimeService', id)} onPress={() => setAsked('name')}>
        Rename
      </Button>
      <Button kind="danger" why={why('deleteUptimeService', id)} onPress={() => setAsked('loss')}>
        Delete
      </Button>
      {asked === 'name' && <NameService of={{ id, name }} onClose={close} onDone={close} />}
      {asked === 'loss' && (
        <ConfirmLoss operation="deleteUptimeService" name={name} action="Delete" onConfirm={remove} onClose={close}>
          <p>Monitors, alert sources and open incidents of it stand in the way; the refusal names them.</p>
        </ConfirmLoss>
      )}
    </>
  );
}
