import { useState } from 'preact/hooks';
import type { RegistryImage } from '../../../sdk/browser.ts';
import { act } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { bytes } from '../../ui/cell.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { counted } from '../../ui/counted.ts';
import { CheckField } from '../../ui/fields.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { imageKinds, shortDigest } from './places.ts';

export const useImage = (slug: string, repo: string, reference: string) =>
  useQuery({
    key: ['image', slug, repo, reference],
    kinds: imageKinds,
    ask: (client, signal) => client.registry.getRegistryImage(slug, { repo, reference }, { signal }),
  });

/** What goes with an image, in words. */
export function lossOf({ purge: { manifests, freedBytes, isCut } }: RegistryImage): string {
  const others = manifests - 1;
  const along =
    others > 0 ? `, and ${isCut ? 'at least ' : ''}${counted(others, 'manifest')} that it lists or that are attached to it` : '';
  return `The image goes${along}. That frees ${isCut ? 'at least ' : 'about '}${bytes(freedBytes)}; layers that other images need stay.`;
}

/** Why the image cannot go now. */
export function keptBy({ purge: { listedBy, immutableTag } }: RegistryImage): string | undefined {
  if (immutableTag) return `The rules of the registry keep the tag ${immutableTag}; change them first.`;
  if (listedBy) return `The index ${shortDigest(listedBy)} lists this image; delete that first.`;
  return undefined;
}

interface DeleteTagProps {
  slug: string;
  repo: string;
  tag: string;
  onClose(): void;
  onDeleted(): void;
}

/** A tag goes alone, or with its image if that has no other: then its name is typed, since that cannot come back. */
export function DeleteTag({ slug, repo, tag, onClose, onDeleted }: DeleteTagProps) {
  const why = useWhy();
  const reading = useImage(slug, repo, tag);
  const [isPurging, setPurging] = useState(false);
  const image = reading.data;
  const others = image?.tags.filter((other) => other !== tag) ?? [];
  const mayPurge = why('deleteRegistryManifest') === undefined;
  const remove = async () => {
    const done = await act({
      what: `delete the tag ${tag}`,
      done: ({ purged }) => (purged ? `${tag} is deleted with its image` : `The tag ${tag} is deleted; its image stays`),
      // The screen that shows it asks again once it has let go of what is gone.
      kinds: [],
      work: () => api().registry.deleteRegistryTag(slug, { repo, tag, ...(isPurging ? { purge: 'true' as const } : {}) }),
    });
    if (done) onDeleted();
  };
  return (
    <Confirm title={`Delete the tag ${tag}?`} name={isPurging ? tag : undefined} action="Delete" onConfirm={remove} onClose={onClose}>
      {!image ? (
        <Waiting reading={reading} what="tag" />
      ) : (
        <>
          <p>
            Pulls of <code>{`${repo}:${tag}`}</code> fail at once.{' '}
            {others.length
              ? `Its image stays: it has ${counted(others.length, 'other tag')}, such as ${others[0]}.`
              : 'Its image stays without a tag, and can be pulled by its digest.'}
          </p>
          {!others.length && mayPurge && (
            <CheckField label="Delete its image too" value={isPurging} onChange={setPurging} hint={lossOf(image)} />
          )}
          {!others.length && !mayPurge && <p class="hint">Deleting its image too needs the permission registry.image.admin.</p>}
        </>
      )}
    </Confirm>
  );
}
