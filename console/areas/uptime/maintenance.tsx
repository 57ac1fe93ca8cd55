import { useState } from 'preact/hooks';
import type { UptimeMaintenance } from '../../../sdk/browser.ts';
import { act } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { now } from '../../data/clock.ts';
import { open, query, setQuery } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { useServices } from '../../data/uptime.ts';
import { Button } from '../../ui/button.tsx';
import { duration } from '../../ui/cell.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Age, Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useMaintenance } from './readings.ts';

const planCommand = "quarterdeck uptime maintenance create --service shop --title 'New disks' --ends-at 2030-01-01T04:00:00Z";

/** Planned work: under way, ahead, and over. */
export default function Maintenance() {
  const why = useWhy();
  const reading = useMaintenance();
  const { data: services } = useServices();
  const serviceId = query.value.get('service') ?? '';
  const [asked, setAsked] = useState<UptimeMaintenance>();
  const windows = reading.data?.filter((window) => !serviceId || window.serviceId === serviceId);
  const plan = (
    <Button
      kind="primary"
      why={why('createMaintenance')}
      onPress={() => open(`/uptime/maintenance/new${serviceId ? `?service=${encodeURIComponent(serviceId)}` : ''}`)}
    >
      Plan maintenance
    </Button>
  );
  const callOff = async ({ id, title }: UptimeMaintenance) => {
    await act({
      what: `call off ${title}`,
      done: `${title} is called off`,
      kinds: ['uptime.service', 'uptime.monitor'],
      work: () => api().uptime.deleteMaintenance(id),
    });
    setAsked(undefined);
  };
  const nameOf = (id: string) => services?.find((one) => one.id === id)?.name ?? id;
  const shown = (heading: string, list: readonly UptimeMaintenance[], canCallOff = true) =>
    list.length > 0 && (
      <>
        <h2>{heading}</h2>
        <Table
          label={heading}
          rows={list}
          keyOf={({ id }) => id}
          columns={[
            { head: 'What', cell: ({ title }) => <bdi>{title}</bdi> },
            {
              head: 'Service',
              cell: (window) => (
                <Link to={`/services/${window.serviceId}`}>
                  <bdi>{nameOf(window.serviceId)}</bdi>
                </Link>
              ),
            },
            {
              head: 'When',
              cell: ({ startsAt, endsAt }) => (
                <>
                  <Moment at={startsAt} /> to <Moment at={endsAt} />{' '}
                  <span class="faint">({duration((Date.parse(endsAt) - Date.parse(startsAt)) / 1000)})</span>
                </>
              ),
            },
            {
              head: 'Act',
              cell: (window) =>
                canCallOff ? (
                  <Button
                    small
                    why={why('deleteMaintenance', window.serviceId)}
                    onPress={() => setAsked(window)}
                    label={`Call off ${window.title}`}
                  >
                    Call off
                  </Button>
                ) : (
                  <Age at={window.endsAt} long />
                ),
            },
          ]}
        />
      </>
    );
  const at = now.value;
  const isOver = ({ endsAt }: UptimeMaintenance) => Date.parse(endsAt) <= at;
  const isAhead = ({ startsAt }: UptimeMaintenance) => Date.parse(startsAt) > at;
  const bySoonest = (a: UptimeMaintenance, b: UptimeMaintenance) => (a.startsAt < b.startsAt ? -1 : 1);
  return (
    <Page title="Maintenance" actions={windows?.length !== 0 && plan} code={[{ operation: 'listMaintenance' }]}>
      {serviceId && (
        <p>
          Of <bdi>{nameOf(serviceId)}</bdi> alone.{' '}
          <Button small onPress={() => setQuery('service', undefined)}>
            Show all
          </Button>
        </p>
      )}
      {!windows ? (
        <Waiting reading={reading} what="maintenance" />
      ) : !windows.length ? (
        <Empty title="No maintenance is planned" action={plan} command={planCommand}>
          While a service is under maintenance its monitors go on checking. No page is sent, and no downtime is counted.
        </Empty>
      ) : (
        <>
          {shown('Under way', windows.filter((window) => !isOver(window) && !isAhead(window)).toSorted(bySoonest))}
          {shown('Ahead', windows.filter(isAhead).toSorted(bySoonest))}
          {shown(
            'Over',
            windows.filter(isOver).toSorted((a, b) => bySoonest(b, a)),
            false,
          )}
        </>
      )}
      {asked && (
        <ConfirmLoss
          operation="deleteMaintenance"
          name={asked.title}
          action="Call off"
          onConfirm={() => callOff(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            It is as if it had never been planned: when a monitor is down now, its alert fires, and the time counts in its availability.
          </p>
        </ConfirmLoss>
      )}
    </Page>
  );
}
