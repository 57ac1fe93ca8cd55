import { badRequest } from '../../status.ts';
import { authenticateToken } from '../engine/authenticate.ts';
import { isAllowed } from '../engine/authorize.ts';
import type { Call } from '../engine/call.ts';
import type { Cluster, User } from '../engine/cluster.ts';
import { readRbac } from '../engine/read.ts';
import type { Json, KubeObject } from '../rules/object.ts';
import { textOf, textsOf } from '../rules/object.ts';
import { type Attributes, rulesFor } from '../rules/rbac.ts';
import { decodeObject } from './body.ts';

// Review requests are answered and not stored: who am I, may I, may they, whose token is this.

export async function answerReview(cluster: Cluster, call: Call): Promise<KubeObject> {
  const { object } = decodeObject(call);
  const spec = object.spec ?? {};
  object.metadata = { name: '' };
  const answers: Record<string, () => Promise<Json>> = {
    SelfSubjectReview: async () => ({ userInfo: infoOf(call.caller.user) }),
    TokenReview: () => reviewToken(cluster, spec),
    SelfSubjectAccessReview: () => reviewAccess(cluster, call.caller.user, spec),
    SubjectAccessReview: () => reviewAccess(cluster, subjectOf(spec), spec),
    LocalSubjectAccessReview: () => reviewAccess(cluster, subjectOf(spec), inNamespace(spec, call.requestInfo.namespace)),
    SelfSubjectRulesReview: () => reviewRules(cluster, call.caller.user, textOf(spec['namespace'])),
  };
  const { name: _name, ...metadata } = object.metadata;
  return { ...object, metadata: metadata as KubeObject['metadata'], status: await answers[object.kind]!() };
}

const infoOf = ({ name, uid, groups, extra }: User): Json => ({
  username: name,
  ...(uid ? { uid } : {}),
  groups,
  ...(extra ? { extra } : {}),
});

const subjectOf = (spec: Json): User => {
  const name = textOf(spec['user']);
  const groups = textsOf(spec['groups']);
  if (!name && groups.length === 0) throw badRequest('spec.user or spec.groups: at least one of user or group must be specified');
  return { name, groups };
};

function inNamespace(spec: Json, namespace: string): Json {
  const attributes = spec['resourceAttributes'] as Json | undefined;
  if (textOf(attributes?.['namespace']) !== namespace)
    throw badRequest('spec.resourceAttributes.namespace: must match the namespace of the request');
  return spec;
}

async function reviewToken(cluster: Cluster, spec: Json): Promise<Json> {
  const { audience } = cluster.options.serviceAccount;
  const requestedAudiences = textsOf(spec['audiences']);
  const user = await authenticateToken(cluster, textOf(spec['token']));
  if (!user) return { authenticated: false, error: '[invalid bearer token]' };
  if (requestedAudiences.length > 0 && !requestedAudiences.includes(audience))
    return { authenticated: false, error: `token audiences ["${audience}"] is invalid for the target audiences` };
  return { authenticated: true, user: infoOf(user), audiences: [audience] };
}

async function reviewAccess(cluster: Cluster, user: User, spec: Json): Promise<Json> {
  const resource = spec['resourceAttributes'] as Record<string, string> | undefined;
  const path = spec['nonResourceAttributes'] as Record<string, string> | undefined;
  if (Boolean(resource) === Boolean(path))
    throw badRequest('spec: exactly one of nonResourceAttributes or resourceAttributes must be specified');
  const none = { group: '', resource: '', subresource: '', namespace: '', name: '' };
  const attributes: Attributes = resource
    ? {
        ...none,
        verb: resource['verb'] ?? '',
        group: resource['group'] ?? '',
        resource: resource['resource'] ?? '',
        subresource: resource['subresource'] ?? '',
        namespace: resource['namespace'] ?? '',
        name: resource['name'] ?? '',
      }
    : { ...none, verb: path!['verb'] ?? '', path: path!['path'] ?? '' };
  return (await isAllowed(cluster, user, attributes)) ? { allowed: true } : { allowed: false };
}

async function reviewRules(cluster: Cluster, user: User, namespace: string): Promise<Json> {
  if (!namespace) throw badRequest('no namespace on request');
  const rules = [...rulesFor(await readRbac(cluster), user, namespace)];
  const resourceRules = rules.flatMap(({ verbs = [], apiGroups, resources, resourceNames }) =>
    resources?.length ? [{ verbs, apiGroups, resources, ...(resourceNames ? { resourceNames } : {}) }] : [],
  );
  const nonResourceRules = rules.flatMap(({ verbs = [], nonResourceURLs }) =>
    nonResourceURLs?.length ? [{ verbs, nonResourceURLs }] : [],
  );
  return { resourceRules, nonResourceRules, incomplete: false };
}
