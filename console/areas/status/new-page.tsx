import { api } from '../../data/api.ts';
import { open } from '../../data/place.ts';
import { Page } from '../../ui/page.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { PageForm } from './page-form.tsx';
import { type createInput, freshValues } from './page-values.ts';
import { useDownServices, useServices } from './readings.ts';

/** Makes a status page. */
export default function NewPage() {
  const services = useServices();
  const down = useDownServices();
  return (
    <Page title="New status page" crumbs={[{ to: '/status', label: 'Status pages' }]}>
      {!services.data ? (
        <Waiting reading={services} what="list" />
      ) : (
        <PageForm
          isNew
          start={freshValues(zoneHere())}
          services={services.data}
          down={down}
          save={(input) => api().status.createStatusPage(input as ReturnType<typeof createInput>)}
          onSaved={(slug) => open(`/status/${slug}`)}
        />
      )}
    </Page>
  );
}

function zoneHere(): string {
  try {
    return new Intl.DateTimeFormat().resolvedOptions().timeZone;
  } catch {
    return 'UTC';
  }
}
