import { maxTold, type StorySource, type Told, tellSome } from '../../../ports.ts';
import { imagesPushed } from '../../store/ports/story.ts';

export const registryStory: StorySource = {
  async read(tx, { org, reach }, _own, { from, openedAt }) {
    const visible = reach('registry.image.read');
    const withheld =
      visible === '*' ? [] : [{ what: visible ? 'images pushed elsewhere' : 'images pushed', permission: 'registry.image.read' as const }];
    if (visible === undefined) return { withheld };
    const { told, isCut } = tellSome(
      await imagesPushed(tx, org, visible, from, openedAt, maxTold + 1),
      ({ slug, name, digest, at, tags }): Told => ({
        at,
        kind: 'image_pushed',
        title: `${slug}/${name}${tags.length ? `:${tags[0]}` : ''} was pushed`,
        detail: [...(tags.length > 1 ? [`tags ${tags.join(', ')}`] : []), digest].join('; ').slice(0, 500),
        ref: { kind: 'repository', id: name, parents: [slug] },
      }),
    );
    return { before: told, withheld, isCut };
  },
};
