import { useState } from 'preact/hooks';
import type { OncallAlertSource } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useOncallServices } from './readings.ts';

const kinds = ['oncall.source', 'uptime.service'];

/** Doors for alerts of Prometheus, Alertmanager and whatever speaks their format. */
export default function Sources() {
  const why = useWhy();
  const reading = useQuery({ key: ['sources'], kinds, ask: (client, signal) => client.oncall.listAlertSources({ signal }) });
  const services = useOncallServices();
  const [isNew, setNew] = useState(false);
  const [made, setMade] = useState<{ id: string; token: string }>();
  const [asked, setAsked] = useState<OncallAlertSource>();
  const nameOf = (id: string) => services.data?.services.find((one) => one.id === id)?.name ?? id;
  const sources = reading.data?.sources;
  return (
    <Page
      title="Alert sources"
      actions={
        <Button kind="primary" why={why('createAlertSource')} onPress={() => setNew(true)}>
          New source
        </Button>
      }
      code={[
        { operation: 'listAlertSources' },
        { operation: 'createAlertSource', input: { name: 'alertmanager', serviceId: '<service>' } },
      ]}
    >
      {!sources ? (
        <Waiting reading={reading} what="list" />
      ) : sources.length ? (
        <Table
          label="Alert sources"
          rows={sources}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Source', cell: ({ name }) => name },
            { head: 'Service', cell: ({ serviceId }) => nameOf(serviceId) },
            {
              head: 'Last delivery',
              cell: ({ lastEventAt, lastProblem }) => (
                <>
                  {lastEventAt ? <Age at={lastEventAt} long /> : <span class="attention">never</span>}
                  {lastProblem && (
                    <div class="small-text attention">
                      {lastProblem.rejected} not taken in <Age at={lastProblem.at} long />: {lastProblem.message}
                    </div>
                  )}
                </>
              ),
            },
            {
              head: 'Act',
              cell: (source) => (
                <Button small why={why('revokeAlertSource')} onPress={() => setAsked(source)}>
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      ) : (
        <Empty title="No alert source yet" command="quarterdeck oncall alert-sources create --name alertmanager --service checkout">
          A source has an address and a token. What it delivers opens incidents of its service.
        </Empty>
      )}
      {isNew && (
        <NewSource
          services={services.data?.services ?? []}
          onClose={() => setNew(false)}
          onMade={(source) => {
            setNew(false);
            setMade(source);
          }}
        />
      )}
      {made && <Snippets source={made} onClose={() => setMade(undefined)} />}
      {asked && (
        <Confirm
          title={`Revoke ${asked.name}?`}
          action="Revoke"
          onClose={() => setAsked(undefined)}
          onConfirm={async () => {
            const done = await act({
              what: `revoke the alert source ${asked.name}`,
              done: `Revoked ${asked.name}`,
              kinds,
              work: () => api().oncall.revokeAlertSource(asked.id),
            });
            if (done) setAsked(undefined);
          }}
        >
          <p>Its token is refused from now on, also for deliveries under way. Incidents that it opened stay.</p>
        </Confirm>
      )}
    </Page>
  );
}

interface NewSourceProps {
  services: readonly { id: string; name: string }[];
  onClose(): void;
  onMade(source: { id: string; token: string }): void;
}

function NewSource({ services, onClose, onMade }: NewSourceProps) {
  const why = useWhy();
  const [name, setName] = useState('alertmanager');
  const [serviceId, setService] = useState(services[0]?.id ?? '');
  const create = async () => {
    if (!serviceId) throw new Error('Make a service first: a source belongs to one');
    onMade(
      await attempt({ what: `create the alert source ${name}`, kinds, work: () => api().oncall.createAlertSource({ name, serviceId }) }),
    );
  };
  return (
    <Dialog title="New alert source" onClose={onClose}>
      <Form action="Create the source" why={why('createAlertSource')} onSubmit={create} onCancel={onClose}>
        <TextField label="Name" required isFirst value={name} onChange={setName} />
        <SelectField
          label="Service whose incidents it opens"
          value={serviceId}
          onChange={setService}
          options={services.map((one) => ({ value: one.id, label: one.name }))}
        />
      </Form>
    </Dialog>
  );
}

/** What to paste, with the token in it. It is gone when the dialog closes. */
function Snippets({ source: { id, token }, onClose }: { source: { id: string; token: string }; onClose(): void }) {
  const base = `${location.origin}/api/v1/oncall/alert-sources/${id}`;
  return (
    <Dialog title="Point your alerts here" onClose={onClose} wide>
      <p class="note attention">The token is shown once. Copy what you need now.</p>
      <h3>Alertmanager</h3>
      <Code
        label="Alertmanager receiver"
        text={`receivers:\n  - name: quarterdeck\n    webhook_configs:\n      - url: ${base}/alerts\n        http_config:\n          authorization:\n            credentials: ${token}`}
      />
      <h3>Prometheus alone</h3>
      <Code
        label="Prometheus alerting"
        text={`alerting:\n  alertmanagers:\n    - scheme: ${location.protocol.slice(0, -1)}\n      path_prefix: /api/v1/oncall/alert-sources/${id}\n      authorization:\n        credentials: ${token}\n      static_configs:\n        - targets: ['${location.host}']`}
      />
      <h3>Try it</h3>
      <Code
        label="curl"
        text={`curl ${base}/alerts \\\n  -H 'Authorization: Bearer ${token}' -H 'Content-Type: application/json' \\\n  -d '{"version":"4","status":"firing","alerts":[{"status":"firing","labels":{"alertname":"Test"},"startsAt":"2026-01-01T00:00:00Z"}]}'`}
      />
    </Dialog>
  );
}
