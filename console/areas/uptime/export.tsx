import { useState } from 'preact/hooks';
import type { UptimeExportToken } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';

const kinds = ['uptime.export'];

/** Tokens with which Prometheus and its like read all monitors. */
export default function Export() {
  const why = useWhy();
  const reading = useQuery({
    key: ['uptime', 'export tokens'],
    kinds,
    ask: async (client, signal) => (await client.uptime.listExportTokens({ signal })).tokens,
  });
  const [isNaming, setNaming] = useState(false);
  const [minted, setMinted] = useState<string>();
  const [asked, setAsked] = useState<UptimeExportToken>();
  const tokens = reading.data;
  const create = (
    <Button kind="primary" why={why('createExportToken')} onPress={() => setNaming(true)}>
      New token
    </Button>
  );
  const revoke = async ({ id, name }: UptimeExportToken) => {
    await act({
      what: `revoke the export token ${name}`,
      done: `${name} is revoked: scrapes with it are refused`,
      kinds,
      work: () => api().uptime.revokeExportToken(id),
    });
    setAsked(undefined);
  };
  return (
    <Page
      title="Metrics export"
      actions={tokens?.length !== 0 && create}
      code={[{ operation: 'listExportTokens' }, { operation: 'createExportToken', input: { name: 'prometheus' } }]}
    >
      {!tokens ? (
        <Waiting reading={reading} what="list" />
      ) : !tokens.length ? (
        <Empty title="No export token yet" action={create} command="quarterdeck uptime export-tokens create --name prometheus">
          With a token Prometheus reads all monitors of this organization, by the metric names of blackbox_exporter.
        </Empty>
      ) : (
        <Table
          label="Export tokens"
          rows={tokens}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Token', cell: ({ name }) => <bdi>{name}</bdi> },
            { head: 'Made', kind: 'wide', cell: ({ createdAt }) => <Age at={createdAt} long /> },
            {
              head: 'Last scrape',
              cell: ({ lastUsedAt }) => (lastUsedAt ? <Age at={lastUsedAt} long /> : <span class="attention">never</span>),
            },
            {
              head: 'Act',
              cell: (token) => (
                <Button small why={why('revokeExportToken')} onPress={() => setAsked(token)} label={`Revoke ${token.name}`}>
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      )}
      {isNaming && (
        <NameToken
          onClose={() => setNaming(false)}
          onMinted={(token) => {
            setNaming(false);
            setMinted(token);
          }}
        />
      )}
      {minted !== undefined && <Minted token={minted} onClose={() => setMinted(undefined)} />}
      {asked && (
        <ConfirmLoss
          operation="revokeExportToken"
          name={asked.name}
          action="Revoke"
          onConfirm={() => revoke(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Page>
  );
}

function NameToken({ onClose, onMinted }: { onClose(): void; onMinted(token: string): void }) {
  const why = useWhy();
  const [name, setName] = useState('prometheus');
  const submit = async () => {
    const { token } = await attempt({ what: `mint the export token ${name}`, kinds, work: () => api().uptime.createExportToken({ name }) });
    onMinted(token);
  };
  return (
    <Dialog title="New export token" onClose={onClose}>
      <Form action="Mint the token" why={why('createExportToken')} onSubmit={submit} onCancel={onClose}>
        <TextField label="Name" required isFirst value={name} onChange={setName} hint="The scraper that will use it" />
      </Form>
    </Dialog>
  );
}

/** The token and what to do with it. It is gone when the dialog closes. */
const Minted = ({ token, onClose }: { token: string; onClose(): void }) => (
  <Dialog title="Let Prometheus scrape" onClose={onClose} wide>
    <p class="note attention">The token is shown once. Copy it now: nothing here keeps it.</p>
    <h3>The token, for the file /etc/prometheus/quarterdeck.token</h3>
    <Code text={token} label="The token" />
    <h3>prometheus.yml</h3>
    <Code text={scrapeConfig()} label="The configuration" />
    <h3>To try it</h3>
    <Code text={`curl -s -H "Authorization: Bearer ${token}" ${location.origin}/api/v1/uptime/export/metrics`} label="The curl line" />
    <p class="hint">
      Alert rules and a Grafana dashboard are in <code>deploy/uptime/</code>.
    </p>
  </Dialog>
);

const scrapeConfig = () => `scrape_configs:
  - job_name: quarterdeck-uptime
    honor_labels: true # instance is the address that is checked
    scrape_interval: 30s
    scheme: ${location.protocol.replace(':', '')}
    metrics_path: /api/v1/uptime/export/metrics
    authorization:
      credentials_file: /etc/prometheus/quarterdeck.token
    static_configs:
      - targets: ['${location.host}']
`;
