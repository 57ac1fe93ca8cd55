import { useState } from 'preact/hooks';
import type { RegistryDetail, RegistryRepository } from '../../../sdk/browser.ts';
import { act, leave } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useEndless } from '../../data/endless.ts';
import { useQuery } from '../../data/query.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { useTyped } from '../../data/typed.ts';
import { Button } from '../../ui/button.tsx';
import { bytes } from '../../ui/cell.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code } from '../../ui/copy.tsx';
import { counted } from '../../ui/counted.ts';
import { Empty } from '../../ui/empty.tsx';
import { EndlessNote } from '../../ui/endless-note.tsx';
import { OperationDialog } from '../../ui/operation-dialog.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { Table } from '../../ui/table.tsx';
import { Age, Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { pushLines } from './commands.ts';
import { LoginButton } from './login.tsx';
import { Parts } from './parts.tsx';
import { crumbsTo, imageKinds, repositoryPath } from './places.ts';
import { Quota } from './quota.tsx';
import { Storage } from './storage.tsx';

/** One registry: its repositories, how full it is and was, and the rules for its tags. */
export default function Registry({ params: { slug = '' } }: { params: Record<string, string> }) {
  const reading = useQuery({
    key: ['registry', slug],
    kinds: imageKinds,
    ask: (client, signal) => client.registry.getRegistry(slug, { signal }),
  });
  const mayList = useMay('listRegistryRepositories');
  const refusal = useWhy()('listRegistryRepositories');
  const registry = reading.data;
  if (!registry)
    return (
      <Page title={slug} crumbs={crumbsTo()}>
        <Waiting reading={reading} what="registry" />
      </Page>
    );
  return (
    <Page
      title={registry.displayName ?? slug}
      crumbs={crumbsTo()}
      actions={<Actions registry={registry} />}
      code={[
        { operation: 'getRegistry', params: [slug] },
        { operation: 'listRegistryRepositories', params: [slug] },
        { operation: 'getRegistryUsage', params: [slug] },
      ]}
    >
      <Parts slug={slug} />
      {mayList && <Repositories slug={slug} total={registry.repositoryCount} />}
      {refusal && <p class="note">{refusal}</p>}
      <h2>Storage</h2>
      <p>
        <Quota name={slug} used={registry.usedBytes} quota={registry.storageQuotaBytes} />
      </p>
      <Storage slug={slug} />
      <h2>Rules</h2>
      <Rules registry={registry} />
    </Page>
  );
}

function Actions({ registry: { slug, displayName, immutableTags, retention, repositoryCount } }: { registry: RegistryDetail }) {
  const why = useWhy();
  const [asked, setAsked] = useState<'change' | 'delete'>();
  const close = () => setAsked(undefined);
  const remove = async () => {
    const done = await act({
      what: `delete the registry ${slug}`,
      done: `${slug} is deleted`,
      kinds: [],
      work: () => api().registry.deleteRegistry(slug),
    });
    if (done) leave('/registry', imageKinds);
    else close();
  };
  const left =
    repositoryCount > 0
      ? `It still has ${counted(repositoryCount, 'repository')}: delete ${repositoryCount === 1 ? 'it' : 'them'} first.`
      : undefined;
  return (
    <>
      <LoginButton slug={slug} kind="primary" />
      <Button why={why('updateRegistry')} onPress={() => setAsked('change')}>
        Change
      </Button>
      <Button kind="danger" why={why('deleteRegistry') ?? left} onPress={() => setAsked('delete')}>
        Delete
      </Button>
      {asked === 'change' && (
        <OperationDialog operation="updateRegistry" params={[slug]} input={{ displayName, immutableTags, retention }} onClose={close} />
      )}
      {asked === 'delete' && <ConfirmLoss operation="deleteRegistry" name={slug} action="Delete" onConfirm={remove} onClose={close} />}
    </>
  );
}

const shownFrom = 10;

function Repositories({ slug, total }: { slug: string; total: number }) {
  const [prefix, setPrefix] = useTyped('q');
  const isFit = /^[a-z0-9][a-z0-9._/-]{0,254}$/.test(prefix);
  const list = useEndless<RegistryRepository>({
    key: ['repositories', slug, prefix],
    kinds: imageKinds,
    isOff: prefix !== '' && !isFit,
    ask: async (client, cursor, signal) => {
      const input = { ...(prefix ? { prefix } : {}), ...(cursor ? { cursor } : { limit: 200 }) };
      const { repositories, cursor: next } = await client.registry.listRegistryRepositories(slug, input, signal ? { signal } : {});
      return { rows: repositories, cursor: next };
    },
  });
  const { rows } = list;
  return (
    <>
      <h2>Repositories</h2>
      {(total > shownFrom || prefix) && (
        <search class="toolbar">
          <input
            type="search"
            aria-label="Name begins with"
            placeholder="Name begins with …"
            value={prefix}
            onInput={(event) => setPrefix(event.currentTarget.value.toLowerCase())}
          />
        </search>
      )}
      {prefix && !isFit ? (
        <p class="note">Names of repositories are lower-case letters and digits with . _ - / between them.</p>
      ) : !rows ? (
        <Waiting reading={list} what="registry" />
      ) : rows.length ? (
        <>
          <Table
            look="plain"
            label="Repositories"
            rows={rows}
            keyOf={({ name }) => name}
            to={({ name }) => repositoryPath(slug, name)}
            onEnd={list.more}
            columns={[
              { head: 'Repository', cell: ({ name }) => name },
              { head: 'Tags', kind: 'number', cell: ({ tagCount }) => tagCount },
              { head: 'Size', kind: 'number', cell: ({ sizeBytes }) => bytes(sizeBytes) },
              { head: 'Since', kind: 'wide', cell: ({ createdAt }) => <Age at={createdAt} long /> },
            ]}
          />
          <EndlessNote list={list} noun="repository" />
        </>
      ) : prefix ? (
        <Empty title="No repository begins so" action={<Button onPress={() => setPrefix('')}>Show all</Button>} />
      ) : (
        <Empty title="No image yet">
          A repository appears with the first image that is pushed to it. Log in, then:
          <Code text={pushLines(slug, 'app')} label="The lines that push an image" />
        </Empty>
      )}
    </>
  );
}

function Rules({ registry: { immutableTags = [], retention = {}, region, createdAt, slug } }: { registry: RegistryDetail }) {
  const { untaggedDays, rules = [] } = retention;
  return (
    <Sheet
      rows={[
        [
          'Tags that stay as they are',
          immutableTags.length ? immutableTags.map((pattern) => <code key={pattern}>{pattern} </code>) : 'none: every tag can move',
        ],
        ['Untagged images', untaggedDays ? `go ${untaggedDays} days after they were pushed and last pulled` : 'stay'],
        [
          'Old tags',
          rules.length ? (
            <ul key="rules" class="inline">
              {rules.map((rule) => (
                <li key={JSON.stringify(rule)}>
                  <code>{`${rule.repositories ?? '*'}:${rule.tags ?? '*'}`}</code> keeps{' '}
                  {[rule.keepLast && `the newest ${rule.keepLast}`, rule.keepDays && `those of the last ${rule.keepDays} days`]
                    .filter(Boolean)
                    .join(' and ')}
                </li>
              ))}
            </ul>
          ) : (
            'stay'
          ),
        ],
        ['Address', <code key="address">{`${location.host}/${slug}`}</code>],
        ['Region', region],
        ['Made', <Moment key="made" at={createdAt} />],
      ]}
    />
  );
}
