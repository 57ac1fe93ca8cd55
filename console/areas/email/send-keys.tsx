import { useState } from 'preact/hooks';
import type { EmailSendKey } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code, Value } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { CheckField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { nameOf, useDomains, useSettings } from './readings.ts';
import { curlSnippet, nodeSnippet, type SendKeyMade, swaksSnippet } from './snippets.ts';

const kinds = ['email.key'];

/** With a key a program sends mail, by HTTP or SMTP. */
export default function SendKeys() {
  const why = useWhy();
  const domains = useDomains();
  const reading = useQuery({
    key: ['send keys'],
    kinds,
    ask: async (client, signal) => (await client.email.listSendKeys({ signal })).sendKeys,
  });
  const [isNew, setNew] = useState(false);
  const [made, setMade] = useState<SendKeyMade>();
  const [asked, setAsked] = useState<EmailSendKey>();
  const keys = reading.data;
  const create = (
    <Button kind="primary" why={why('createSendKey')} onPress={() => setNew(true)}>
      New send key
    </Button>
  );
  const revoke = async ({ id, name }: EmailSendKey) => {
    await act({
      what: `revoke the send key ${name}`,
      done: `${name} is revoked: what it hands in is refused from now on`,
      kinds,
      work: () => api().email.revokeSendKey(id),
    });
    setAsked(undefined);
  };
  return (
    <Page
      title="Send keys"
      actions={keys?.length !== 0 && create}
      code={[{ operation: 'listSendKeys' }, { operation: 'createSendKey', input: { name: 'shop' } }]}
    >
      {!keys ? (
        <Waiting reading={reading} what="list" />
      ) : keys.length ? (
        <Table
          label="Send keys"
          rows={keys}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Key', cell: ({ name }) => <bdi>{name}</bdi> },
            { head: 'SMTP user name', cell: ({ keyId }) => <Value text={keyId} /> },
            {
              head: 'Sends for',
              cell: ({ domainIds }) => (domainIds.length ? domainIds.map((id) => nameOf(domains.data, id)).join(', ') : 'every domain'),
            },
            { head: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? <Age at={lastUsedAt} long /> : 'never') },
            {
              head: 'Act',
              cell: (key) => (
                <Button small why={why('revokeSendKey')} onPress={() => setAsked(key)} label={`Revoke ${key.name}`}>
                  Revoke
                </Button>
              ),
            },
          ]}
        />
      ) : (
        <Empty title="No send key yet" action={create} command="quarterdeck email keys create --name shop">
          With a key a program sends mail by HTTP or SMTP. Give each program its own, so that one can be revoked.
        </Empty>
      )}
      {isNew && (
        <NewKey
          onClose={() => setNew(false)}
          onMade={(key) => {
            setNew(false);
            setMade(key);
          }}
        />
      )}
      {made && <Snippets made={made} onClose={() => setMade(undefined)} />}
      {asked && (
        <ConfirmLoss
          operation="revokeSendKey"
          name={asked.name}
          action="Revoke"
          onConfirm={() => revoke(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Page>
  );
}

function NewKey({ onClose, onMade }: { onClose(): void; onMade(made: SendKeyMade): void }) {
  const why = useWhy();
  const domains = useDomains();
  const [name, setName] = useState('');
  const [chosen, setChosen] = useState<readonly string[]>([]);
  const create = async () => {
    const { sendKey, secret } = await attempt({
      what: `mint the send key ${name}`,
      kinds,
      work: () => api().email.createSendKey({ name, ...(chosen.length ? { domainIds: [...chosen] } : {}) }),
    });
    const known = domains.data?.filter(({ id }) => !chosen.length || chosen.includes(id));
    const domain = known?.find(({ sendState }) => sendState === 'verified') ?? known?.[0];
    onMade({ keyId: sendKey.keyId, secret, from: `hello@${domain?.name ?? 'example.com'}` });
  };
  return (
    <Dialog title="New send key" onClose={onClose}>
      <Form action="Mint the key" why={why('createSendKey')} onSubmit={create} onCancel={onClose}>
        <TextField label="Name" required isFirst value={name} onChange={setName} placeholder="shop" hint="The program that will use it" />
        {domains.data && domains.data.length > 0 && (
          <fieldset>
            <legend>Only for mail from</legend>
            {domains.data.map(({ id, name: domain }) => (
              <CheckField
                key={id}
                label={domain}
                value={chosen.includes(id)}
                onChange={(isOn) => setChosen(isOn ? [...chosen, id] : chosen.filter((one) => one !== id))}
              />
            ))}
            <p class="hint">None chosen: from every domain of the organization.</p>
          </fieldset>
        )}
      </Form>
    </Dialog>
  );
}

/** The secret and what to do with it. It is gone when the dialog closes. */
function Snippets({ made, onClose }: { made: SendKeyMade; onClose(): void }) {
  const { data: settings } = useSettings();
  const submission = settings?.submission;
  return (
    <Dialog title="The send key, shown once" onClose={onClose} wide>
      <p class="note attention">The secret is shown once. Copy what you need now: nothing here keeps it.</p>
      <Code text={made.secret} label="The secret" />
      <p>These send a test to the simulator, which no network sees.</p>
      <h3>curl</h3>
      <Code text={curlSnippet(made)} label="The curl line" />
      <h3>Node</h3>
      <Code text={nodeSnippet(made)} label="The program for Node" />
      {submission && (
        <>
          <h3>SMTP</h3>
          <Sheet
            rows={[
              ['Server', <Value key="host" text={submission.host} />],
              ['Port', `${submission.port} with STARTTLS, or ${submission.tlsPort} with TLS from the first byte`],
              ['User name', <Value key="user" text={made.keyId} />],
              ['Password', 'the secret'],
            ]}
          />
          <Code text={swaksSnippet(made, submission)} label="The swaks line" />
        </>
      )}
    </Dialog>
  );
}
