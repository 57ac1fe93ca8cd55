import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { open } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { LoginButton } from './login.tsx';
import { imageKinds, registryPath } from './places.ts';
import { Quota } from './quota.tsx';

/** The registries of the organization, with how full they are. */
export default function Registries() {
  const why = useWhy();
  const reading = useQuery({
    key: ['registries'],
    kinds: imageKinds,
    ask: async (client, signal) => (await client.registry.listRegistries({ signal })).registries,
  });
  const [isNew, setNew] = useState(false);
  const registries = reading.data;
  const create = (
    <Button kind="primary" why={why('createRegistry')} onPress={() => setNew(true)}>
      New registry
    </Button>
  );
  return (
    <Page
      title="Registries"
      actions={
        registries?.length !== 0 && (
          <>
            {create}
            <LoginButton />
          </>
        )
      }
      code={[{ operation: 'listRegistries' }, { operation: 'createRegistry', input: { slug: 'shop' } }]}
    >
      {!registries ? (
        <Waiting reading={reading} what="list" />
      ) : registries.length ? (
        <Table
          label="Registries"
          rows={registries}
          keyOf={({ slug }) => slug}
          to={({ slug }) => registryPath(slug)}
          columns={[
            { head: 'Registry', cell: ({ slug }) => slug },
            { head: 'Name', cell: ({ displayName }) => <bdi>{displayName}</bdi> },
            {
              head: 'Storage',
              cell: ({ slug, usedBytes = 0, storageQuotaBytes }) => <Quota name={slug} used={usedBytes} quota={storageQuotaBytes} />,
            },
            { head: 'Made', kind: 'wide', cell: ({ createdAt }) => <Age at={createdAt} long /> },
          ]}
        />
      ) : (
        <Empty title="No registry yet" action={create} command="quarterdeck registry create --slug shop">
          A registry holds the container images of a team or product. Docker, Podman and Kubernetes push to it and pull from it.
        </Empty>
      )}
      {isNew && <NewRegistry onClose={() => setNew(false)} />}
    </Page>
  );
}

function NewRegistry({ onClose }: { onClose(): void }) {
  const why = useWhy();
  const [slug, setSlug] = useState('');
  const [name, setName] = useState('');
  const create = async () => {
    const made = await attempt({
      what: `create the registry ${slug}`,
      done: `Created ${slug}`,
      kinds: imageKinds,
      work: () => api().registry.createRegistry({ slug, ...(name.trim() ? { displayName: name } : {}) }),
    });
    open(registryPath(made.slug));
  };
  return (
    <Dialog title="New registry" onClose={onClose}>
      <Form action="Create the registry" why={why('createRegistry')} onSubmit={create} onCancel={onClose}>
        <TextField
          label="Short name"
          required
          isFirst
          value={slug}
          onChange={setSlug}
          placeholder="shop"
          hint={
            <>
              Images are <code>{`${location.host}/${slug || 'shop'}/…`}</code>. It can never be changed.
            </>
          }
        />
        <TextField label="What people call it" value={name} onChange={setName} />
      </Form>
    </Dialog>
  );
}
