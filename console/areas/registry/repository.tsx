import { useMemo, useState } from 'preact/hooks';
import type { RegistryManifest, RegistryTag } from '../../../sdk/browser.ts';
import { act, leave } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useEndless } from '../../data/endless.ts';
import { query } from '../../data/place.ts';
import { refresh, useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { useTyped } from '../../data/typed.ts';
import { useScreenKeys } from '../../shell/keys.ts';
import { Button } from '../../ui/button.tsx';
import { bytes } from '../../ui/cell.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code, CopyButton } from '../../ui/copy.tsx';
import { counted } from '../../ui/counted.ts';
import { Empty } from '../../ui/empty.tsx';
import { EndlessNote } from '../../ui/endless-note.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { useRowKeys } from '../../ui/row-keys.ts';
import { Table } from '../../ui/table.tsx';
import { Tabs, tabOf } from '../../ui/tabs.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { pushLines } from './commands.ts';
import { DeleteTag } from './delete-image.tsx';
import { LoginButton } from './login.tsx';
import { crumbsTo, imageKinds, imagePath, registryPath, shortDigest } from './places.ts';

const tabs = [
  { value: 'tags', label: 'Tags' },
  { value: 'images', label: 'Images, untagged ones too' },
];

/** A repository: its tags, filtered on the server, and its images by the time of their push. */
export default function Repository({ params: { slug = '' } }: { params: Record<string, string> }) {
  const repo = query.value.get('name') ?? '';
  return <OneRepository key={repo} slug={slug} repo={repo} />;
}

interface RepositoryProps {
  slug: string;
  repo: string;
}

function OneRepository({ slug, repo }: RepositoryProps) {
  const why = useWhy();
  const [isAsked, setAsked] = useState(false);
  return (
    <Page
      title={repo}
      crumbs={crumbsTo(slug)}
      actions={
        <>
          <LoginButton slug={slug} kind="primary" />
          <Button kind="danger" why={why('deleteRegistryRepository')} onPress={() => setAsked(true)}>
            Delete
          </Button>
        </>
      }
      code={[
        { operation: 'listRegistryTags', params: [slug], input: { repo } },
        { operation: 'listRegistryManifests', params: [slug], input: { repo } },
      ]}
    >
      <Tabs tabs={tabs} />
      {tabOf(tabs) === 'tags' ? <Tags slug={slug} repo={repo} /> : <Images slug={slug} repo={repo} />}
      {isAsked && <DeleteRepository slug={slug} repo={repo} onClose={() => setAsked(false)} />}
    </Page>
  );
}

const isTagStart = (text: string) => /^[A-Za-z0-9_][A-Za-z0-9._-]{0,127}$/.test(text);

function Tags({ slug, repo }: RepositoryProps) {
  const why = useWhy();
  const [prefix, setPrefix] = useTyped('q');
  const [going, setGoing] = useState<RegistryTag>();
  const isFit = prefix === '' || isTagStart(prefix);
  const list = useEndless<RegistryTag>({
    key: ['tags', slug, repo, prefix],
    kinds: imageKinds,
    isOff: !isFit,
    ask: async (client, cursor, signal) => {
      const input = { repo, ...(prefix ? { prefix } : {}), ...(cursor ? { cursor } : { limit: firstTags }) };
      const { tags, cursor: next } = await client.registry.listRegistryTags(slug, input, signal ? { signal } : {});
      return { rows: tags, cursor: next };
    },
  });
  const { rows } = list;
  const { current, keys } = useRowKeys(
    useMemo(() => rows?.map(({ name }) => name) ?? [], [rows]),
    'tag',
  );
  useScreenKeys(keys);
  return (
    <>
      <search class="toolbar">
        <input
          type="search"
          aria-label="Tag begins with"
          placeholder="Tag begins with …"
          value={prefix}
          onInput={(event) => setPrefix(event.currentTarget.value)}
        />
      </search>
      {!isFit ? (
        <p class="note">Tags are letters and digits with . _ - between them.</p>
      ) : !rows ? (
        <Waiting reading={list} what="repository" />
      ) : rows.length ? (
        <>
          <Table
            look="even tags"
            label={`Tags of ${repo}`}
            rows={rows}
            keyOf={({ name }) => name}
            to={({ name }) => imagePath(slug, repo, name)}
            onEnd={list.more}
            current={current}
            isCurrentFocused
            columns={[
              { head: 'Tag', cell: ({ name }) => <span title={name}>{name}</span> },
              {
                head: 'Digest',
                kind: 'wide',
                cell: ({ name, digest }) => (
                  <>
                    <code title={digest}>{shortDigest(digest)}</code> <CopyButton text={digest} what={`the whole digest of ${name}`} />
                  </>
                ),
              },
              { head: 'Size', kind: 'number', cell: ({ sizeBytes, manifestSize }) => bytes(sizeBytes ?? manifestSize) },
              { head: 'Set', cell: ({ updatedAt }) => <Age at={updatedAt} long /> },
              {
                head: 'Act',
                cell: (tag) => (
                  <Button small why={why('deleteRegistryTag')} onPress={() => setGoing(tag)} label={`Delete the tag ${tag.name}`}>
                    Delete
                  </Button>
                ),
              },
            ]}
          />
          <EndlessNote list={list} noun="tag" />
        </>
      ) : prefix ? (
        <Empty title="No tag begins so" action={<Button onPress={() => setPrefix('')}>Show all tags</Button>} />
      ) : (
        <Empty title="No tag yet">
          Its images have no tag, or none was pushed:
          <Code text={pushLines(slug, repo)} label="The lines that push an image" />
        </Empty>
      )}
      {going && (
        <DeleteTag
          slug={slug}
          repo={repo}
          tag={going.name}
          onClose={() => setGoing(undefined)}
          onDeleted={() => {
            list.drop(({ name }) => name === going.name);
            setGoing(undefined);
            setTimeout(() => void refresh(imageKinds));
          }}
        />
      )}
    </>
  );
}

/** More than the window of the list draws; further ones follow in thousands. */
const firstTags = 200;

function Images({ slug, repo }: RepositoryProps) {
  const list = useEndless<RegistryManifest>({
    key: ['manifests', slug, repo],
    kinds: imageKinds,
    ask: async (client, cursor, signal) => {
      const { manifests, cursor: next } = await client.registry.listRegistryManifests(
        slug,
        { repo, limit: firstTags, ...(cursor ? { cursor } : {}) },
        signal ? { signal } : {},
      );
      return { rows: manifests, cursor: next };
    },
  });
  if (!list.rows) return <Waiting reading={list} what="repository" />;
  return (
    <>
      <Table
        look="even tags"
        label={`Images of ${repo}, the newest first`}
        rows={list.rows}
        keyOf={({ digest }) => digest}
        to={({ digest }) => imagePath(slug, repo, digest)}
        onEnd={list.more}
        columns={[
          { head: 'Digest', cell: ({ digest }) => <code title={digest}>{shortDigest(digest)}</code> },
          {
            head: 'Tags',
            kind: 'wide',
            cell: ({ tags }) => <span title={tags.join(', ')}>{tags.join(', ') || <span class="faint">none</span>}</span>,
          },
          { head: 'Size', kind: 'number', cell: ({ sizeBytes }) => bytes(sizeBytes) },
          { head: 'Pushed', cell: ({ createdAt }) => <Age at={createdAt} long /> },
          {
            head: 'Attached',
            cell: ({ signatures = 0, sboms = 0 }) =>
              [signatures && `${signatures} signed`, sboms && `${sboms} SBOM`].filter(Boolean).join(', ') || <span class="faint">–</span>,
          },
        ]}
      />
      <EndlessNote list={list} noun="image" />
    </>
  );
}

function DeleteRepository({ slug, repo, onClose }: RepositoryProps & { onClose(): void }) {
  // The shortest name that begins so is the repository itself.
  const { data } = useQuery({
    key: ['repository', slug, repo],
    kinds: imageKinds,
    ask: async (client, signal) =>
      (await client.registry.listRegistryRepositories(slug, { prefix: repo, limit: 1 }, { signal })).repositories[0],
  });
  const remove = async () => {
    const done = await act({
      what: `delete the repository ${slug}/${repo}`,
      done: `${repo} is deleted; its space is free within minutes`,
      kinds: [],
      work: () => api().registry.deleteRegistryRepository(slug, { repo }),
    });
    if (done) leave(registryPath(slug), imageKinds);
    else onClose();
  };
  return (
    <ConfirmLoss operation="deleteRegistryRepository" name={repo} action="Delete" onConfirm={remove} onClose={onClose}>
      {data?.name === repo && (
        <p>
          {counted(data.tagCount, 'tag')} {data.tagCount === 1 ? 'goes' : 'go'}, with every image that has none, {bytes(data.sizeBytes)} in
          all. Pulls of them fail at once. Look first: <Link to={registryPath(slug)}>{slug}</Link>
        </p>
      )}
    </ConfirmLoss>
  );
}
