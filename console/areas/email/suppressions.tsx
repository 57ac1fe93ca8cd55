import { useState } from 'preact/hooks';
import type { EmailSuppression } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useEndless } from '../../data/endless.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { EndlessNote } from '../../ui/endless-note.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';

const kinds = ['email.suppression'];
const reasons: Record<string, string> = { bounce: 'it does not exist', complaint: 'called mail spam', manual: 'added by hand' };

/** Addresses that get no mail from this organization. */
export default function Suppressions() {
  const why = useWhy();
  const list = useEndless<EmailSuppression>({
    key: ['suppressions'],
    kinds,
    ask: async (client, cursor, signal) => {
      const { suppressions, cursor: next } = await client.email.listSuppressions(
        { limit: 200, ...(cursor ? { cursor } : {}) },
        signal ? { signal } : {},
      );
      return { rows: suppressions, cursor: next };
    },
  });
  const [isNew, setNew] = useState(false);
  const [asked, setAsked] = useState<EmailSuppression>();
  const { rows } = list;
  const add = (
    <Button kind="primary" why={why('createSuppression')} onPress={() => setNew(true)}>
      Suppress an address
    </Button>
  );
  const lift = async ({ id, address }: EmailSuppression) => {
    const done = await act({
      what: `mail ${address} again`,
      done: `${address} gets mail again`,
      kinds,
      work: () => api().email.deleteSuppression(id),
    });
    if (done) list.drop((one) => one.id === id);
    setAsked(undefined);
  };
  return (
    <Page title="Suppressed addresses" actions={rows?.length !== 0 && add} code={[{ operation: 'listSuppressions' }]}>
      {!rows ? (
        <Waiting reading={list} what="list" />
      ) : rows.length ? (
        <>
          <Table
            look="even suppressions"
            label="Suppressed addresses, the newest first"
            rows={rows}
            keyOf={({ id }) => id}
            onEnd={list.more}
            columns={[
              { head: 'Address', cell: ({ address }) => <bdi title={address}>{address}</bdi> },
              { head: 'Why', cell: ({ reason }) => reasons[reason] ?? reason },
              { head: 'Since', cell: ({ createdAt }) => <Age at={createdAt} long /> },
              {
                head: 'Act',
                cell: (one) => (
                  <Button small why={why('deleteSuppression')} onPress={() => setAsked(one)} label={`Mail ${one.address} again`}>
                    Mail again
                  </Button>
                ),
              },
            ]}
          />
          <EndlessNote list={list} noun="address" />
        </>
      ) : (
        <Empty title="No address is suppressed" action={add} command="quarterdeck email suppressions create --address ada@example.com">
          An address that bounced for good or complained gets no more mail from here. That keeps the name of your domains good.
        </Empty>
      )}
      {isNew && <NewSuppression onClose={() => setNew(false)} />}
      {asked && (
        <Confirm
          title={`Mail ${asked.address} again?`}
          action="Mail again"
          onConfirm={() => lift(asked)}
          onClose={() => setAsked(undefined)}
        >
          <p>
            {asked.reason === 'complaint'
              ? 'Its owner called mail from here spam: ask first. Complaints pause all sending.'
              : 'The next hard bounce suppresses it again, and counts against the limits.'}
          </p>
        </Confirm>
      )}
    </Page>
  );
}

function NewSuppression({ onClose }: { onClose(): void }) {
  const why = useWhy();
  const [address, setAddress] = useState('');
  const create = async () => {
    await attempt({
      what: `suppress ${address}`,
      done: `${address.trim()} gets no more mail`,
      kinds,
      work: () => api().email.createSuppression({ address }),
    });
    onClose();
  };
  return (
    <Dialog title="Suppress an address" onClose={onClose}>
      <Form action="Suppress" why={why('createSuppression')} onSubmit={create} onCancel={onClose}>
        <TextField label="Address" required isFirst type="email" value={address} onChange={setAddress} />
      </Form>
    </Dialog>
  );
}
