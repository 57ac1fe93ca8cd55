// Which objects of a store its control plane should list: by their keys on one side, by its discovery on the other.

/** A list of objects of one resource. */
export interface Listing {
  path: string;
  /** Where a custom resource is stored; a built-in one may be elsewhere. */
  folder: string;
}

interface Resource {
  name: string;
  verbs?: string[];
}

/** Objects that come and go by themselves, or are stored twice: events expire. */
const isCounted = ({ name, verbs }: Resource): boolean => !name.includes('/') && name !== 'events' && verbs?.includes('list') === true;

/** The lists of one group version, from its discovery. */
export const listingsOf = (groupVersion: string, resources: readonly Resource[]): Listing[] =>
  resources.filter(isCounted).map(({ name }) => {
    const [group, version] = groupVersion.split('/');
    return version === undefined
      ? { path: `/api/${groupVersion}/${name}`, folder: name }
      : { path: `/apis/${groupVersion}/${name}`, folder: `${group}/${name}` };
  });

/** `configmaps`, or `stable.example.com/crontabs`: custom resources are below their group, whose name has a dot. */
export function folderOf(key: string): string {
  const [, , first = '', second = ''] = key.split('/');
  return first.includes('.') ? `${first}/${second}` : first;
}

/** Keys below /registry that are no objects, and events. */
const uncounted = new Set(['health', 'ranges', 'masterleases', 'peerserverleases', 'events']);

/** How many objects the lists should have together. Custom resources are counted where they can be listed. */
export function expectedObjects(folders: ReadonlyMap<string, number>, listings: readonly Listing[]): number {
  const listed = new Set(listings.map(({ folder }) => folder));
  let sum = 0;
  for (const [folder, keys] of folders) if (folder.includes('/') ? listed.has(folder) : !uncounted.has(folder)) sum += keys;
  return sum;
}
