import { groupVersionOf, groupVersions, type Resource, resources, verbsOf } from './resources.ts';

// API discovery: one document per group and version, or aggregated.

const inGroup = (group: string, version: string) => resources.filter((one) => one.group === group && one.version === version);

export function listResources(group: string, version: string): unknown {
  const found = inGroup(group, version);
  if (found.length === 0) return undefined;
  return {
    kind: 'APIResourceList',
    apiVersion: 'v1',
    groupVersion: groupVersionOf({ group, version }),
    resources: found.flatMap((one) => [describeResource(one), ...one.subresources.map((sub) => describeSubresource(one, sub))]),
  };
}

const describeResource = (one: Resource) => ({
  name: one.plural,
  singularName: one.singular,
  namespaced: one.isNamespaced,
  kind: one.kind,
  verbs: verbsOf(one),
  ...(one.shortNames.length ? { shortNames: one.shortNames } : {}),
  ...(one.isInAll ? { categories: ['all'] } : {}),
});

const describeSubresource = (one: Resource, sub: Resource['subresources'][number]) => ({
  name: `${one.plural}/${sub.name}`,
  singularName: '',
  namespaced: one.isNamespaced,
  ...(sub.kind === one.kind ? {} : { group: 'authentication.k8s.io', version: 'v1' }),
  kind: sub.kind,
  verbs: sub.verbs,
});

const namedGroups = groupVersions.filter(({ group }) => group !== '');
const describeGroup = (group: string) => {
  const versions = namedGroups
    .filter((one) => one.group === group)
    .map(({ version }) => ({ groupVersion: `${group}/${version}`, version }));
  return versions.length ? { name: group, versions, preferredVersion: versions[0] } : undefined;
};

export const coreVersions = () => ({ kind: 'APIVersions', versions: ['v1'], serverAddressByClientCIDRs: [] });
export const listGroups = () => ({ kind: 'APIGroupList', apiVersion: 'v1', groups: namedGroups.map(({ group }) => describeGroup(group)) });
export const findGroup = (group: string): unknown => {
  const found = describeGroup(group);
  return found && { kind: 'APIGroup', apiVersion: 'v1', ...found };
};

/** All resources below /api, or below /apis, in one document. */
export const aggregatedDiscovery = (isCore: boolean, form: 'v2' | 'v2beta1') => ({
  kind: 'APIGroupDiscoveryList',
  apiVersion: `apidiscovery.k8s.io/${form}`,
  metadata: {},
  items: groupVersions
    .filter(({ group }) => (group === '') === isCore)
    .map(({ group, version }) => ({
      metadata: group ? { name: group, creationTimestamp: null } : { creationTimestamp: null },
      versions: [{ version, freshness: 'Current', resources: inGroup(group, version).map(describeAggregated) }],
    })),
});

const kindOf = (one: Resource, kind: string) =>
  kind === 'TokenRequest' ? { group: 'authentication.k8s.io', version: 'v1', kind } : { group: one.group, version: one.version, kind };

const describeAggregated = (one: Resource) => ({
  resource: one.plural,
  responseKind: kindOf(one, one.kind),
  scope: one.isNamespaced ? 'Namespaced' : 'Cluster',
  singularResource: one.singular,
  verbs: verbsOf(one),
  ...(one.shortNames.length ? { shortNames: one.shortNames } : {}),
  ...(one.isInAll ? { categories: ['all'] } : {}),
  ...(one.subresources.length
    ? { subresources: one.subresources.map((sub) => ({ subresource: sub.name, responseKind: kindOf(one, sub.kind), verbs: sub.verbs })) }
    : {}),
});
