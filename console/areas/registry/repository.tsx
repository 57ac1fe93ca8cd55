import { organization, query } from '../../data/place.ts';
import { Code } from '../../ui/copy.tsx';
import { ThingList } from '../../ui/thing-list.tsx';

/** The tags of a repository, and the lines that pull it. */
export default function Repository({ params: { slug = '' } }: { params: Record<string, string> }) {
  const name = query.value.get('name') ?? '';
  const below = `/registry/${encodeURIComponent(slug)}`;
  return (
    <ThingList
      title={name}
      operation="listRegistryTags"
      params={[slug]}
      input={{ repo: name }}
      crumbs={[
        { to: '/registry', label: 'Registries' },
        { to: below, label: slug },
        { to: `${below}/repositories`, label: 'Repositories' },
      ]}
      acts={[
        { operation: 'deleteRegistryTag', label: 'Delete tag', params: () => [slug], input: ({ name: tag }) => ({ repo: name, tag }) },
      ]}
      about="A tag names an image of this repository."
    >
      <Code text={`docker pull ${location.host}/${slug}/${name}`} label={`The line that pulls from ${organization.value}`} />
    </ThingList>
  );
}
