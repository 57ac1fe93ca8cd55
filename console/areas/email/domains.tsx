import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { open } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useDomains } from './readings.ts';

/** The domains that mail is sent from and received for. */
export default function Domains() {
  const why = useWhy();
  const reading = useDomains();
  const [isNew, setNew] = useState(false);
  const domains = reading.data;
  const create = (
    <Button kind="primary" why={why('createDomain')} onPress={() => setNew(true)}>
      New domain
    </Button>
  );
  return (
    <Page
      title="Mail domains"
      actions={domains?.length !== 0 && create}
      code={[{ operation: 'listDomains' }, { operation: 'createDomain', input: { name: 'mail.example.com' } }]}
    >
      {!domains ? (
        <Waiting reading={reading} what="list" />
      ) : domains.length ? (
        <Table
          label="Mail domains"
          rows={domains}
          keyOf={({ id }) => id}
          to={({ id }) => `/email/domains/${id}`}
          columns={[
            { head: 'Domain', cell: ({ name }) => name },
            { head: 'Sending', cell: ({ sendState }) => <State word={sendState} /> },
            {
              head: 'Receiving',
              cell: ({ receiveState }) => (receiveState === 'none' ? <span class="faint">no</span> : <State word={receiveState} />),
            },
            { head: 'Made', kind: 'wide', cell: ({ createdAt }) => <Age at={createdAt} long /> },
          ]}
        />
      ) : (
        <Empty title="No domain yet" action={create} command="quarterdeck email domains create --name mail.example.com">
          Mail is sent from a domain of yours. It shows that you hold it by a few DNS records; each is checked by itself.
        </Empty>
      )}
      {isNew && <NewDomain onClose={() => setNew(false)} />}
    </Page>
  );
}

function NewDomain({ onClose }: { onClose(): void }) {
  const why = useWhy();
  const [name, setName] = useState('');
  const create = async () => {
    const made = await attempt({
      what: `register the domain ${name}`,
      done: ({ name: known }) => `${known} is registered: publish its records next`,
      kinds: ['email.domain'],
      work: () => api().email.createDomain({ name }),
    });
    open(`/email/domains/${made.id}`);
  };
  return (
    <Dialog title="New mail domain" onClose={onClose}>
      <Form action="Register the domain" why={why('createDomain')} onSubmit={create} onCancel={onClose}>
        <TextField
          label="Domain"
          required
          isFirst
          value={name}
          onChange={setName}
          placeholder="mail.example.com"
          hint="What stands behind the @ of senders. A subdomain of its own keeps the rest of your mail as it is"
        />
      </Form>
    </Dialog>
  );
}
