import { api } from '../../data/api.ts';
import { open, query } from '../../data/place.ts';
import { Page } from '../../ui/page.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { MonitorForm } from './monitor-form.tsx';
import { type createInput, freshValues } from './monitor-values.ts';
import { useCatalog } from './readings.ts';

/** Adds a monitor, also one more of a service that the address names. */
export default function NewMonitor() {
  const reading = useCatalog();
  const catalog = reading.data;
  const serviceId = query.value.get('service') ?? '';
  return (
    <Page title="Add a monitor" crumbs={[{ to: '/uptime/monitors', label: 'Monitors' }]}>
      {!catalog ? (
        <Waiting reading={reading} what="catalog" />
      ) : (
        <MonitorForm
          start={{
            ...freshValues,
            serviceId,
            intervalSeconds: String(catalog.intervals.find(({ seconds }) => seconds >= 60)?.seconds ?? catalog.intervals[0]?.seconds ?? 60),
            vantages: catalog.vantages
              .filter(({ available }) => available)
              .map(({ id }) => id)
              .slice(0, 10),
          }}
          catalog={catalog}
          save={(input) => api().uptime.createMonitor(input as unknown as ReturnType<typeof createInput>)}
          onSaved={(id) => open(`/uptime/monitors/${id}`)}
          onCancel={() => open('/uptime/monitors')}
        />
      )}
    </Page>
  );
}
