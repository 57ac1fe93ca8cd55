import { useState } from 'preact/hooks';
import type { RegistryImage } from '../../../sdk/browser.ts';
import { act, leave } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { query } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { bytes } from '../../ui/cell.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Value } from '../../ui/copy.tsx';
import { counted } from '../../ui/counted.ts';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { Table } from '../../ui/table.tsx';
import { Age, Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { DeleteTag, keptBy, lossOf, useImage } from './delete-image.tsx';
import { crumbsTo, imageKinds, imagePath, repositoryPath, shortDigest } from './places.ts';
import { PullLines } from './pull-lines.tsx';

/** One image, by a tag or by its digest. */
export default function Image({ params: { slug = '' } }: { params: Record<string, string> }) {
  const repo = query.value.get('repo') ?? '';
  const reference = query.value.get('reference') ?? '';
  return <OneImage key={`${repo} ${reference}`} slug={slug} repo={repo} reference={reference} />;
}

interface ImageProps {
  slug: string;
  repo: string;
  reference: string;
}

function OneImage({ slug, repo, reference }: ImageProps) {
  const reading = useImage(slug, repo, reference);
  const isTag = !reference.includes(':');
  const image = reading.data;
  const title = isTag ? reference : shortDigest(reference);
  if (!image)
    return (
      <Page title={title} crumbs={crumbsTo(slug, repo)}>
        <Waiting reading={reading} what="image" />
      </Page>
    );
  return (
    <Page
      title={title}
      crumbs={crumbsTo(slug, repo)}
      actions={<Actions slug={slug} repo={repo} reference={reference} image={image} />}
      code={[{ operation: 'getRegistryImage', params: [slug], input: { repo, reference } }]}
    >
      <PullLines
        slug={slug}
        repo={repo}
        references={[...(isTag ? [{ label: 'by tag', reference }] : []), { label: 'by digest', reference: image.digest }]}
      />
      <Facts slug={slug} repo={repo} image={image} />
      <Platforms image={image} />
      <Attachments slug={slug} repo={repo} image={image} />
    </Page>
  );
}

type Part = Omit<ImageProps, 'reference'> & { image: RegistryImage };

function Actions({ slug, repo, reference, image }: ImageProps & { image: RegistryImage }) {
  const why = useWhy();
  const [asked, setAsked] = useState<'tag' | 'image'>();
  const close = () => setAsked(undefined);
  const isTag = !reference.includes(':');
  const away = () => leave(repositoryPath(slug, repo), imageKinds);
  const remove = async () => {
    const done = await act({
      what: `delete the image ${shortDigest(image.digest)}`,
      done: 'The image is deleted',
      kinds: [],
      work: () => api().registry.deleteRegistryManifest(slug, { repo, digest: image.digest }),
    });
    if (done) away();
    else close();
  };
  const name = isTag ? reference : image.digest.slice(-12);
  return (
    <>
      {isTag && (
        <Button why={why('deleteRegistryTag')} onPress={() => setAsked('tag')}>
          Delete the tag
        </Button>
      )}
      <Button kind="danger" why={why('deleteRegistryManifest') ?? keptBy(image)} onPress={() => setAsked('image')}>
        Delete the image
      </Button>
      {asked === 'tag' && <DeleteTag slug={slug} repo={repo} tag={reference} onClose={close} onDeleted={away} />}
      {asked === 'image' && (
        <Confirm title={`Delete the image ${name}?`} name={name} action="Delete" onConfirm={remove} onClose={close}>
          <p>{lossOf(image)} It cannot come back.</p>
          {image.tags.length > 0 && (
            <p>
              These tags go too: <code>{image.tags.join(', ')}</code>
            </p>
          )}
        </Confirm>
      )}
    </>
  );
}

const Facts = ({ slug, repo, image: { digest, mediaType, artifactType, sizeBytes, createdAt, pulledAt, tags, subject } }: Part) => (
  <Sheet
    rows={[
      ['Digest', <Value key="digest" text={digest} />],
      [
        'Tags',
        tags.length ? (
          <ul key="tags" class="inline">
            {tags.map((tag) => (
              <li key={tag}>
                <Link to={imagePath(slug, repo, tag)}>{tag}</Link>
              </li>
            ))}
          </ul>
        ) : (
          'none: it is pulled by its digest'
        ),
      ],
      ['Size', bytes(sizeBytes)],
      ['Pushed', <Moment key="pushed" at={createdAt} />],
      ['Last pulled', pulledAt ? <Age key="pulled" at={pulledAt} long /> : 'never, as far as is noted'],
      subject !== undefined && [
        'Attached to',
        <Link key="subject" to={imagePath(slug, repo, subject)}>
          {subject}
        </Link>,
      ],
      ['Kind', artifactType ?? mediaType],
    ]}
  />
);

function Platforms({ image: { platforms } }: { image: RegistryImage }) {
  if (!platforms.length) return null;
  return (
    <section>
      <h2>{platforms.length === 1 ? 'Layers' : 'Platforms'}</h2>
      {platforms.map(({ digest, platform, isHere, sizeBytes, layers }) => (
        <article key={digest} class="card">
          <h3>
            {platform ?? 'Platform not told'}
            {sizeBytes !== undefined && <span class="faint"> {bytes(sizeBytes)}</span>}
          </h3>
          {platforms.length > 1 && (
            <p>
              <Value text={digest} />
            </p>
          )}
          {!isHere && <p class="attention">This registry does not hold it: the index names more than was pushed.</p>}
          {layers.length > 0 && (
            <details open={platforms.length === 1}>
              <summary>{counted(layers.length, 'layer')}</summary>
              <Table
                label={`Layers of ${platform ?? digest}, the lowest first`}
                rows={layers.map((layer, at) => ({ ...layer, at }))}
                keyOf={({ at }) => String(at)}
                columns={[
                  { head: 'Layer', cell: (layer) => <code>{layer.digest}</code> },
                  { head: 'Size', kind: 'number', cell: (layer) => bytes(layer.sizeBytes) },
                  { head: 'Type', kind: 'wide', cell: (layer) => layer.mediaType },
                ]}
              />
            </details>
          )}
        </article>
      ))}
    </section>
  );
}

const kindWords = { signature: 'Signature', sbom: 'SBOM', attestation: 'Attestation', other: 'Other' };

function Attachments({ slug, repo, image: { digest: subject, attachments } }: Part) {
  return (
    <section>
      <h2>Signatures and SBOMs</h2>
      {attachments.length ? (
        <>
          <Table
            label="What is attached"
            rows={attachments.map((one, at) => ({ ...one, at }))}
            keyOf={({ at }) => String(at)}
            to={({ digest }) => imagePath(slug, repo, digest)}
            columns={[
              { head: 'Digest', cell: ({ digest }) => <code title={digest}>{shortDigest(digest)}</code> },
              { head: 'Kind', cell: ({ kind }) => kindWords[kind] },
              { head: 'Type', cell: ({ type, tag }) => <bdi>{type || tag || '–'}</bdi> },
              { head: 'Size', kind: 'number', cell: ({ sizeBytes }) => bytes(sizeBytes) },
              { head: 'Pushed', kind: 'wide', cell: ({ createdAt }) => <Age at={createdAt} long /> },
            ]}
          />
          <p class="hint">Whether a signature is good is for a client to verify, such as cosign.</p>
        </>
      ) : (
        <p class="faint">
          Nothing is attached. <code>cosign sign {`${location.host}/${slug}/${repo}@${subject}`}</code> signs it.
        </p>
      )}
    </section>
  );
}
