import { useState } from 'preact/hooks';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { Parts } from './parts.tsx';
import { crumbsTo } from './places.ts';

const kinds = ['registry.upstream'];

/** Other registries whose images are pulled through this one and kept here, and the organization's own logins there. */
export default function Upstreams({ params: { slug = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const reading = useQuery({
    key: ['registry', slug, 'upstream logins'],
    kinds,
    ask: async (client, signal) => (await client.registry.listRegistryUpstreamCredentials(slug, { signal })).upstreamCredentials,
  });
  const upstreams = useQuery({
    key: ['upstreams'],
    kinds: ['registry.registry'],
    isOff: !useMay('listRegistryUpstreams'),
    ask: async (client, signal) => (await client.registry.listRegistryUpstreams({ signal })).upstreams,
  });
  const [host, setHost] = useState<string>();
  const [asked, setAsked] = useState<string>();
  const logins = reading.data;
  // A login for an upstream that the operator took off the catalog is shown, so that it can be forgotten.
  const hosts = [...new Set([...(upstreams.data ?? []).map((one) => one.host), ...(logins ?? []).map((one) => one.upstream)])];
  const loginAt = (upstream: string) => logins?.find((one) => one.upstream === upstream)?.username;
  const forget = async (upstream: string) => {
    await act({
      what: `forget the login at ${upstream}`,
      done: `The login at ${upstream} is forgotten`,
      kinds,
      work: () => api().registry.deleteRegistryUpstreamCredential(slug, upstream),
    });
    setAsked(undefined);
  };
  return (
    <Page
      title="Upstreams"
      crumbs={crumbsTo(slug)}
      code={[{ operation: 'listRegistryUpstreams' }, { operation: 'listRegistryUpstreamCredentials', params: [slug] }]}
    >
      <Parts slug={slug} />
      {!logins ? (
        <Waiting reading={reading} what="registry" />
      ) : hosts.length ? (
        <>
          <p class="about">
            An image that is pulled through this registry is kept here: the next pull is quick, and works while the upstream is away.
          </p>
          <Table
            label="Upstreams"
            rows={hosts}
            keyOf={(upstream) => upstream}
            columns={[
              { head: 'Upstream', cell: (upstream) => <bdi>{upstream}</bdi> },
              {
                head: 'Endpoint',
                kind: 'wide',
                cell: (upstream) =>
                  upstreams.data?.find((one) => one.host === upstream)?.endpoint ?? <span class="attention">no longer offered</span>,
              },
              {
                head: 'Your login',
                cell: (upstream) => <bdi>{loginAt(upstream) ?? 'none: public images, and the limits of strangers'}</bdi>,
              },
              {
                head: 'Act',
                cell: (upstream) => (
                  <span class="buttons">
                    <Button
                      small
                      why={why('setRegistryUpstreamCredential')}
                      onPress={() => setHost(upstream)}
                      label={`Log in at ${upstream}`}
                    >
                      Log in
                    </Button>
                    {loginAt(upstream) !== undefined && (
                      <Button
                        small
                        why={why('deleteRegistryUpstreamCredential')}
                        onPress={() => setAsked(upstream)}
                        label={`Forget the login at ${upstream}`}
                      >
                        Forget
                      </Button>
                    )}
                  </span>
                ),
              },
            ]}
          />
          <h2>Pull through it</h2>
          <Code
            text={`docker pull ${location.host}/${slug}/${hosts[0]}/library/alpine:latest`}
            label="The line that pulls through the cache"
          />
        </>
      ) : (
        <Empty title="This server pulls through no upstream">
          Its operator lists upstreams in <code>QUARTERDECK_REGISTRY_UPSTREAMS</code>.
        </Empty>
      )}
      {host !== undefined && <LogIn slug={slug} host={host} onClose={() => setHost(undefined)} />}
      {asked !== undefined && (
        <ConfirmLoss
          operation="deleteRegistryUpstreamCredential"
          name={asked}
          action="Forget"
          onConfirm={() => forget(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Page>
  );
}

function LogIn({ slug, host, onClose }: { slug: string; host: string; onClose(): void }) {
  const why = useWhy();
  const [username, setUsername] = useState('');
  const [password, setPassword] = useState('');
  const save = async () => {
    await attempt({
      what: `log in at ${host}`,
      done: `${host} takes the login; pulls use it from now on`,
      kinds,
      work: () => api().registry.setRegistryUpstreamCredential(slug, host, { username, password }),
    });
    onClose();
  };
  return (
    <Dialog title={`Log in at ${host}`} onClose={onClose}>
      <Form action="Try and save" why={why('setRegistryUpstreamCredential')} onSubmit={save} onCancel={onClose}>
        <TextField label="User name" required isFirst value={username} onChange={setUsername} />
        <TextField
          label="Password or token"
          required
          type="password"
          value={password}
          onChange={setPassword}
          hint="It is tried there first, kept sealed, and never shown again"
        />
      </Form>
    </Dialog>
  );
}
