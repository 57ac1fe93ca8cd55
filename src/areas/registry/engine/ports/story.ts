import { maxTold, type StorySource, type Told, tellSome } from '../../../ports.ts';
import { imagesPushed, type PushRow } from '../../store/ports/story.ts';

/** A push before it may be why; one after it opened may be the end of it. */
export const registryStory: StorySource = {
  async read(tx, { org, reach }, _own, { from, openedAt, until }) {
    const visible = reach('registry.image.read');
    const withheld =
      visible === '*' ? [] : [{ what: visible ? 'images pushed elsewhere' : 'images pushed', permission: 'registry.image.read' as const }];
    if (visible === undefined) return { withheld };
    const pushed = async (since: string, to: string) => tellSome(await imagesPushed(tx, org, visible, since, to, maxTold + 1), tellPush);
    const [before, during] = await Promise.all([pushed(from, openedAt), pushed(openedAt, until)]);
    return { before: before.told, entries: during.told, withheld, isCut: before.isCut || during.isCut };
  },
};

const tellPush = ({ slug, name, digest, at, tags }: PushRow): Told => ({
  at,
  kind: 'image_pushed',
  title: `${slug}/${name}${tags.length ? `:${tags[0]}` : ''} was pushed`,
  detail: [...(tags.length > 1 ? [`tags ${tags.join(', ')}`] : []), digest].join('; ').slice(0, 500),
  ref: { kind: 'repository', id: name, parents: [slug] },
});
