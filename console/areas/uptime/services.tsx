import { useMemo, useState } from 'preact/hooks';
import { open } from '../../data/place.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { type MonitorRow, useMonitors, useServices } from '../../data/uptime.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { type Condition, conditionOf, conditions } from './condition.ts';
import { NameService } from './name-service.tsx';

/** The services of the organization, with how their monitors stand. */
export default function Services() {
  const why = useWhy();
  const reading = useServices();
  const { data: monitors } = useMonitors({ isOff: !useMay('getUptimeSummary') });
  const byService = useMemo(() => Map.groupBy(monitors?.rows ?? [], ({ serviceId }) => serviceId), [monitors]);
  const [isNaming, setNaming] = useState(false);
  const services = reading.data;
  const create = (
    <Button kind="primary" why={why('createUptimeService')} onPress={() => setNaming(true)}>
      New service
    </Button>
  );
  return (
    <Page title="Services" actions={services?.length !== 0 && create} code={[{ operation: 'listUptimeServices' }]}>
      {!services ? (
        <Waiting reading={reading} what="service" />
      ) : !services.length ? (
        <Empty title="No services yet" action={create} command="quarterdeck uptime services create --name shop">
          A service is what customers would miss. Its monitors watch it, on-call is paged for it, and status pages show it.
        </Empty>
      ) : (
        <Table
          label="Services"
          rows={services}
          keyOf={({ id }) => id}
          to={({ id }) => `/services/${id}`}
          columns={[
            { head: 'Service', cell: ({ name }) => <bdi>{name}</bdi> },
            { head: 'State', cell: ({ id }) => <Standing monitors={byService.get(id) ?? []} /> },
            { head: 'Monitors', kind: 'number', cell: ({ monitors: count }) => count },
            { head: 'Made', kind: 'wide', cell: ({ createdAt }) => <Age at={createdAt} long /> },
          ]}
        />
      )}
      {isNaming && <NameService onClose={() => setNaming(false)} onDone={(id) => open(`/services/${id}`)} />}
    </Page>
  );
}

/** Of its monitors together: the worst, and how many of them. */
function Standing({ monitors }: { monitors: readonly MonitorRow[] }) {
  if (!monitors.length) return <span class="faint">not watched</span>;
  const worst = worstOf(monitors);
  const count = monitors.filter((row) => conditionOf(row) === worst).length;
  return (
    <>
      <State word={worst} />
      {worst !== 'up' && count < monitors.length && (
        <span class="faint">
          {' '}
          {count} of {monitors.length}
        </span>
      )}
    </>
  );
}

/** Paused monitors say something only where there are no others. */
export const worstOf = (monitors: readonly MonitorRow[]): Condition =>
  conditions.find((condition) => monitors.some((row) => conditionOf(row) === condition)) ?? 'paused';
