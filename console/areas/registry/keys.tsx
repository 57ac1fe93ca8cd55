import { useState } from 'preact/hooks';
import type { RegistryKey } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { loginLine, pullSecretLine } from './commands.ts';
import { Parts } from './parts.tsx';
import { crumbsTo, prefixesIn } from './places.ts';

const kinds = ['registry.key'];
type Mode = RegistryKey['mode'];
export const modeWords: Record<Mode, string> = { pull: 'pull', readwrite: 'pull and push' };
export const modes = (Object.keys(modeWords) as Mode[]).map((value) => ({ value, label: modeWords[value] }));

/** Logins of machines. */
export default function Keys({ params: { slug = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const reading = useQuery({
    key: ['registry', slug, 'keys'],
    kinds,
    ask: async (client, signal) => (await client.registry.listRegistryKeys(slug, { signal })).keys,
  });
  const [isNew, setNew] = useState(false);
  const [minted, setMinted] = useState<{ keyId: string; secret: string }>();
  const [asked, setAsked] = useState<RegistryKey>();
  const keys = reading.data;
  const create = (
    <Button kind="primary" why={why('createRegistryKey')} onPress={() => setNew(true)}>
      New key
    </Button>
  );
  const revoke = async ({ keyId, name }: RegistryKey) => {
    await act({
      what: `revoke the key ${name}`,
      done: `${name} is revoked: logins with it are refused from now on`,
      kinds,
      work: () => api().registry.revokeRegistryKey(slug, keyId),
    });
    setAsked(undefined);
  };
  return (
    <Page
      title="Keys"
      crumbs={crumbsTo(slug)}
      actions={keys?.length !== 0 && create}
      code={[
        { operation: 'listRegistryKeys', params: [slug] },
        { operation: 'createRegistryKey', params: [slug], input: { name: 'ci', mode: 'readwrite' } },
      ]}
    >
      <Parts slug={slug} />
      {!keys ? (
        <Waiting reading={reading} what="registry" />
      ) : keys.length ? (
        <Table
          label="Keys"
          rows={keys}
          keyOf={({ keyId }) => keyId}
          columns={[
            { head: 'Key', cell: ({ name }) => <bdi>{name}</bdi> },
            { head: 'User name', kind: 'wide', cell: ({ keyId }) => <code>{keyId}</code> },
            {
              head: 'May',
              cell: ({ mode, repoPrefixes }) =>
                `${modeWords[mode]} ${repoPrefixes.length ? `below ${repoPrefixes.join(', ')}` : 'everywhere'}`,
            },
            { head: 'State', cell: (key) => <KeyState of={key} /> },
            { head: 'Last used', cell: ({ lastUsedAt }) => (lastUsedAt ? <Age at={lastUsedAt} long /> : 'never') },
            {
              head: 'Act',
              cell: (key) =>
                key.revokedAt === undefined && (
                  <Button small why={why('revokeRegistryKey')} onPress={() => setAsked(key)} label={`Revoke ${key.name}`}>
                    Revoke
                  </Button>
                ),
            },
          ]}
        />
      ) : (
        <Empty title="No key yet" action={create} command={`quarterdeck registry keys create ${slug} --name ci --mode readwrite`}>
          A key is the login of a machine: a build that pushes, or a cluster that pulls. CI can do without one: see OIDC rules.
        </Empty>
      )}
      {isNew && (
        <NewKey
          slug={slug}
          onClose={() => setNew(false)}
          onMinted={(key) => {
            setNew(false);
            setMinted(key);
          }}
        />
      )}
      {minted && <Minted of={minted} onClose={() => setMinted(undefined)} />}
      {asked && (
        <ConfirmLoss
          operation="revokeRegistryKey"
          name={asked.name}
          action="Revoke"
          onConfirm={() => revoke(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Page>
  );
}

function KeyState({ of: { revokedAt, expiresAt, mintedVia } }: { of: RegistryKey }) {
  if (revokedAt)
    return (
      <>
        <State word="failed" label="revoked" /> <Age at={revokedAt} long />
      </>
    );
  return (
    <>
      <State word="active" />
      {mintedVia === 'oidc' && ' from CI'}
      {expiresAt && (
        <>
          , ends <Age at={expiresAt} long />
        </>
      )}
    </>
  );
}

interface NewKeyProps {
  slug: string;
  onClose(): void;
  onMinted(key: { keyId: string; secret: string }): void;
}

function NewKey({ slug, onClose, onMinted }: NewKeyProps) {
  const why = useWhy();
  const [name, setName] = useState('ci');
  const [mode, setMode] = useState<Mode>('readwrite');
  const [prefixes, setPrefixes] = useState('');
  const create = async () => {
    const repoPrefixes = prefixesIn(prefixes);
    onMinted(
      await attempt({
        what: `mint the key ${name}`,
        kinds,
        work: () => api().registry.createRegistryKey(slug, { name, mode, ...(repoPrefixes ? { repoPrefixes } : {}) }),
      }),
    );
  };
  return (
    <Dialog title="New key" onClose={onClose}>
      <Form action="Mint the key" why={why('createRegistryKey')} onSubmit={create} onCancel={onClose}>
        <TextField label="Name" required isFirst value={name} onChange={setName} hint="The machine that will use it" />
        <SelectField label="May" value={mode} onChange={(value) => setMode(value as Mode)} options={modes} />
        <PrefixField value={prefixes} onChange={setPrefixes} />
      </Form>
    </Dialog>
  );
}

export const PrefixField = ({ value, onChange }: { value: string; onChange(value: string): void }) => (
  <TextField
    label="Only below"
    value={value}
    onChange={onChange}
    placeholder="team/app, libs"
    hint="Whole parts of names: team covers team and team/app, never teams. Empty: every repository"
  />
);

/** The login and what to do with it. It is gone when the dialog closes. */
const Minted = ({ of: { keyId, secret }, onClose }: { of: { keyId: string; secret: string }; onClose(): void }) => (
  <Dialog title="The key, shown once" onClose={onClose} wide>
    <p class="note attention">The password is shown once. Copy it now: nothing here keeps it.</p>
    <h3>Log in</h3>
    <Code text={loginLine({ username: keyId, password: secret })} label="The line that logs docker in" />
    <h3>Let a cluster pull</h3>
    <Code text={pullSecretLine({ username: keyId, password: secret })} label="The line that makes a pull secret" />
    <h3>For a form that asks for both</h3>
    <Code text={keyId} label="The user name" />
    <Code text={secret} label="The password" />
  </Dialog>
);
