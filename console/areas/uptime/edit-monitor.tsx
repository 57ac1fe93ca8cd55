import { api } from '../../data/api.ts';
import { open } from '../../data/place.ts';
import { Page } from '../../ui/page.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { MonitorForm } from './monitor-form.tsx';
import { valuesOf } from './monitor-values.ts';
import { useCatalog, useMonitor } from './readings.ts';

/** Changes a monitor: what is sent is what was changed, so a name alone starts nothing over. */
export default function EditMonitor({ params: { id = '' } }: { params: Record<string, string> }) {
  const reading = useMonitor(id);
  const { data: catalog, error, again } = useCatalog();
  const monitor = reading.data;
  const back = () => open(`/uptime/monitors/${id}`);
  return (
    <Page
      title={monitor ? `Edit ${monitor.name}` : 'Edit a monitor'}
      crumbs={[
        { to: '/uptime/monitors', label: 'Monitors' },
        { to: `/uptime/monitors/${id}`, label: monitor?.name ?? 'Monitor' },
      ]}
    >
      {!monitor ? (
        <Waiting reading={reading} what="monitor" />
      ) : !catalog ? (
        <Waiting reading={{ error, again }} what="catalog" />
      ) : (
        <MonitorForm
          id={id}
          start={valuesOf(monitor)}
          catalog={catalog}
          save={(changes) => api().uptime.updateMonitor(id, changes)}
          onSaved={back}
          onCancel={back}
        />
      )}
    </Page>
  );
}
