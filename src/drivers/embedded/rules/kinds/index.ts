import { isDeepStrictEqual } from 'node:util';
import { type Cause, forbiddenValue, invalidValue, requiredValue } from '../../../status.ts';
import { validateFinalizers } from '../names.ts';
import type { Json, KubeObject } from '../object.ts';
import { textOf, textsOf } from '../object.ts';
import { prepareService, validateService } from './service.ts';

// Defaults and validation of each kind, beyond the metadata that all objects share.

export interface Kind {
  /** Sets defaults. `before`: the stored object, for an update. */
  prepare?(object: KubeObject, before: KubeObject | undefined): void;
  validate?(object: KubeObject, before: KubeObject | undefined): Cause[];
}

/** Ignores the order of fields. */
const isSameValue = (a: unknown, b: unknown) => isDeepStrictEqual(a ?? null, b ?? null);

const keyPattern = /^[-._a-zA-Z0-9]+$/;
const isKey = (key: string) => key.length <= 253 && keyPattern.test(key) && key !== '.' && !key.startsWith('..');
const maxDataBytes = 1_048_576;

function validateData(parts: [field: string, data: unknown][], object: KubeObject, before: KubeObject | undefined): Cause[] {
  const causes: Cause[] = [];
  let bytes = 0;
  for (const [field, data] of parts)
    for (const [key, value] of Object.entries((data ?? {}) as Record<string, string>)) {
      bytes += Buffer.byteLength(value);
      if (!isKey(key))
        causes.push(
          invalidValue(
            `${field}[${key.slice(0, 300)}]`,
            key.slice(0, 300),
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.'",
          ),
        );
    }
  if (bytes > maxDataBytes * 1.4)
    causes.push({ reason: 'FieldValueTooLong', field: '', message: `Too long: may not be more than ${maxDataBytes} bytes` });
  if (before?.['immutable'] === true) {
    if (object['immutable'] !== true) causes.push(forbiddenValue('immutable', 'field is immutable when `immutable` is set'));
    for (const [field, data] of parts)
      if (!isSameValue(data, before[field])) causes.push(forbiddenValue(field, 'field is immutable when `immutable` is set'));
  }
  return causes.slice(0, 20);
}

const configMap: Kind = {
  validate: (object, before) => {
    const both = Object.keys((object['binaryData'] ?? {}) as Json).filter((key) => Object.hasOwn((object['data'] ?? {}) as Json, key));
    return [
      ...both.slice(0, 10).map((key) => invalidValue('data', key, 'duplicate of key present in binaryData')),
      ...validateData(
        [
          ['data', object['data']],
          ['binaryData', object['binaryData']],
        ],
        object,
        before,
      ),
    ];
  },
};

/** Secret types that require certain keys. */
const secretKeys: Record<string, string[]> = {
  'kubernetes.io/dockercfg': ['.dockercfg'],
  'kubernetes.io/dockerconfigjson': ['.dockerconfigjson'],
  'kubernetes.io/ssh-auth': ['ssh-privatekey'],
  'kubernetes.io/tls': ['tls.crt', 'tls.key'],
};

const secret: Kind = {
  prepare: (object) => {
    object['type'] ??= 'Opaque';
    const texts = Object.entries((object['stringData'] ?? {}) as Record<string, string>);
    delete object['stringData'];
    if (texts.length === 0) return;
    object['data'] = {
      ...((object['data'] ?? {}) as Json),
      ...Object.fromEntries(texts.map(([key, text]) => [key, Buffer.from(text).toString('base64')])),
    };
  },
  validate: (object, before) => {
    const data = (object['data'] ?? {}) as Json;
    const lacking = (secretKeys[textOf(object['type'])] ?? []).filter((key) => !Object.hasOwn(data, key));
    return [
      ...lacking.map((key) => requiredValue(`data[${key}]`)),
      ...(before && before['type'] !== object['type'] ? [invalidValue('type', object['type'], 'field is immutable')] : []),
      ...validateData([['data', object['data']]], object, before),
    ];
  },
};

const namespace: Kind = {
  prepare: (object, before) => {
    object.metadata.labels = { ...object.metadata.labels, 'kubernetes.io/metadata.name': object.metadata.name };
    // After creation, finalizers change through the subresource `finalize` only.
    const finalizers = textsOf(object.spec?.['finalizers']);
    object.spec = before?.spec ?? { finalizers: finalizers.includes('kubernetes') ? finalizers : [...finalizers, 'kubernetes'] };
    object.status = before?.status ?? { phase: 'Active' };
  },
  validate: validateFinalizers,
};

const taintEffects = ['NoSchedule', 'PreferNoSchedule', 'NoExecute'];

const node: Kind = {
  validate: ({ spec = {} }, before) => {
    const causes: Cause[] = [];
    for (const [at, taint] of ((spec['taints'] ?? []) as Json[]).entries()) {
      if (!taint['key']) causes.push(requiredValue(`spec.taints[${at}].key`));
      if (!taintEffects.includes(textOf(taint['effect'])))
        causes.push(
          invalidValue(
            `spec.taints[${at}].effect`,
            taint['effect'],
            `supported values: ${taintEffects.map((one) => `"${one}"`).join(', ')}`,
          ),
        );
    }
    for (const field of ['podCIDR', 'providerID'])
      if (before?.spec?.[field] && before.spec[field] !== spec[field])
        causes.push(forbiddenValue(`spec.${field}`, 'node updates may not change it once it is set'));
    return causes;
  },
};

const lease: Kind = {
  validate: ({ spec = {} }) => {
    const seconds = spec['leaseDurationSeconds'];
    return typeof seconds === 'number' && seconds <= 0
      ? [invalidValue('spec.leaseDurationSeconds', seconds, 'must be greater than 0')]
      : [];
  },
};

const event: Kind = {
  prepare: (object) => {
    object['source'] ??= {};
  },
  validate: (object) => {
    const about = (object['involvedObject'] ?? {}) as { namespace?: string };
    const { namespace: at = '' } = object.metadata;
    const isRight = about.namespace ? about.namespace === at : at === 'default' || at === 'kube-system';
    return isRight ? [] : [invalidValue('involvedObject.namespace', about.namespace ?? '', 'does not match event.namespace')];
  },
};

const rbacGroup = 'rbac.authorization.k8s.io';

const role: Kind = {
  prepare: (object) => {
    object['rules'] ??= [];
  },
  validate: (object) => [...validateAggregation(object), ...validateRules(object)],
};

const maxSelectors = 40;

function validateAggregation(object: KubeObject): Cause[] {
  const selectors = ((object['aggregationRule'] as Json | undefined)?.['clusterRoleSelectors'] ?? []) as Json[];
  const size = selectors.reduce(
    (sum, one) => sum + Object.keys((one['matchLabels'] ?? {}) as Json).length + textsOf(one['matchExpressions']).length,
    selectors.length,
  );
  return size > maxSelectors ? [invalidValue('aggregationRule', size, `has more than ${maxSelectors} selectors and requirements`)] : [];
}

const validateRules = (object: KubeObject): Cause[] =>
  ((object['rules'] ?? []) as Json[])
    .flatMap((rule, at) => {
      const causes: Cause[] = [];
      const urls = textsOf(rule['nonResourceURLs']);
      if (textsOf(rule['verbs']).length === 0) causes.push(requiredValue(`rules[${at}].verbs`, 'verbs must contain at least one value'));
      if (urls.length > 0 && object.kind === 'Role')
        causes.push(invalidValue(`rules[${at}].nonResourceURLs`, urls, 'namespaced rules cannot apply to non-resource URLs'));
      if (urls.length === 0 && textsOf(rule['apiGroups']).length === 0)
        causes.push(requiredValue(`rules[${at}].apiGroups`, 'resource rules must supply at least one api group'));
      if (urls.length === 0 && textsOf(rule['resources']).length === 0)
        causes.push(requiredValue(`rules[${at}].resources`, 'resource rules must supply at least one resource'));
      return causes;
    })
    .slice(0, 20);

const binding: Kind = {
  prepare: (object) => {
    const reference = (object['roleRef'] ?? {}) as Json;
    reference['apiGroup'] ??= rbacGroup;
    object['roleRef'] = reference;
    for (const subject of (object['subjects'] ?? []) as Json[]) if (subject['kind'] !== 'ServiceAccount') subject['apiGroup'] ??= rbacGroup;
  },
  validate: (object, before) => {
    const causes: Cause[] = [];
    const reference = object['roleRef'] as Json;
    const kinds = object.kind === 'RoleBinding' ? ['Role', 'ClusterRole'] : ['ClusterRole'];
    if (!kinds.includes(textOf(reference['kind'])))
      causes.push(invalidValue('roleRef.kind', reference['kind'] ?? '', `supported values: ${kinds.map((one) => `"${one}"`).join(', ')}`));
    if (!reference['name']) causes.push(requiredValue('roleRef.name'));
    if (before && !isSameValue(before['roleRef'], reference)) causes.push(invalidValue('roleRef', reference, 'cannot change roleRef'));
    for (const [at, subject] of ((object['subjects'] ?? []) as Json[]).entries()) {
      if (!['User', 'Group', 'ServiceAccount'].includes(textOf(subject['kind'])))
        causes.push(invalidValue(`subjects[${at}].kind`, subject['kind'] ?? '', 'supported values: "Group", "ServiceAccount", "User"'));
      if (!subject['name']) causes.push(requiredValue(`subjects[${at}].name`));
      if (subject['kind'] === 'ServiceAccount' && !subject['namespace'] && object.kind === 'ClusterRoleBinding')
        causes.push(requiredValue(`subjects[${at}].namespace`));
    }
    return causes.slice(0, 20);
  },
};

const endpointSlice: Kind = {
  prepare: (object) => {
    object['endpoints'] ??= [];
    object['ports'] ??= [];
  },
  validate: (object, before) => {
    const causes: Cause[] = [];
    if (!['IPv4', 'IPv6', 'FQDN'].includes(textOf(object['addressType'])))
      causes.push(invalidValue('addressType', object['addressType'] ?? '', 'supported values: "FQDN", "IPv4", "IPv6"'));
    if (before && before['addressType'] !== object['addressType'])
      causes.push(invalidValue('addressType', object['addressType'], 'field is immutable'));
    return causes;
  },
};

/** A request's spec is immutable; its conditions and certificate change through subresources. */
const signingRequest: Kind = {
  prepare: (object, before) => {
    if (before) object.spec = before.spec ?? {};
  },
};

const kinds: Readonly<Record<string, Kind>> = {
  ConfigMap: configMap,
  Secret: secret,
  Namespace: namespace,
  Node: node,
  Lease: lease,
  Event: event,
  Role: role,
  ClusterRole: role,
  RoleBinding: binding,
  ClusterRoleBinding: binding,
  EndpointSlice: endpointSlice,
  CertificateSigningRequest: signingRequest,
  Service: { prepare: prepareService, validate: (object) => validateService(object) },
};

export const kindOf = (kind: string): Kind => kinds[kind] ?? {};
