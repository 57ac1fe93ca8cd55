import { groupVersions, type Resource, resources } from './resources.ts';
import { type Field, fullName, isScalar, type Message, messageNamed, type Scalar } from './schema/messages.ts';

// OpenAPI v3, one document per group and version, for `kubectl explain` and `kubectl apply`.

const scalars: Record<Scalar, unknown> = {
  string: { type: 'string' },
  int: { type: 'integer', format: 'int64' },
  bool: { type: 'boolean' },
  bytes: { type: 'string', format: 'byte' },
  time: { type: 'string', format: 'date-time' },
  microtime: { type: 'string', format: 'date-time' },
  quantity: { oneOf: [{ type: 'string' }, { type: 'number' }] },
  intstr: { oneOf: [{ type: 'integer' }, { type: 'string' }], format: 'int-or-string' },
  raw: { type: 'object' },
  strings: { type: 'array', items: { type: 'string' } },
};

const reference = (message: string) => ({ $ref: `#/components/schemas/${fullName(message)}` });
const typeOf = (type: string) => (isScalar(type) ? scalars[type] : { allOf: [reference(type)], default: {} });

function describeField({ cardinality, type, mergeKey }: Field): unknown {
  if (cardinality === 'map') return { type: 'object', additionalProperties: typeOf(type) };
  if (cardinality === 'one') return typeOf(type);
  const merge =
    mergeKey === undefined
      ? {}
      : { 'x-kubernetes-patch-strategy': 'merge', ...(mergeKey ? { 'x-kubernetes-patch-merge-key': mergeKey } : {}) };
  return { type: 'array', items: typeOf(type), ...merge };
}

const typeMeta = { apiVersion: { type: 'string' }, kind: { type: 'string' } };

function describeMessage(message: Message, of?: Resource): unknown {
  const fields = Object.fromEntries([...message.fields].map(([name, field]) => [name, describeField(field)]));
  return {
    type: 'object',
    properties: of ? { ...typeMeta, ...fields } : fields,
    ...(of ? { 'x-kubernetes-group-version-kind': [kindOf(of)] } : {}),
  };
}

const kindOf = ({ group, version, kind }: Resource) => ({ group, kind, version });

function schemasOf(found: readonly Resource[]): Record<string, unknown> {
  const schemas: Record<string, unknown> = {};
  const add = (name: string, of?: Resource) => {
    if (schemas[fullName(name)]) return;
    const message = messageNamed(name);
    schemas[fullName(name)] = describeMessage(message, of);
    for (const field of message.fields.values()) if (!isScalar(field.type)) add(field.type);
  };
  for (const resource of found) if (resource.message) add(resource.message, resource);
  // Kinds that are always empty have no fields to describe.
  for (const resource of found)
    if (!resource.message)
      schemas[`io.quarterdeck.empty.${resource.kind}`] = {
        type: 'object',
        description: 'Never there: this control plane is embedded and runs no pods.',
        properties: typeMeta,
        'x-kubernetes-group-version-kind': [kindOf(resource)],
      };
  return schemas;
}

const parameter = (name: string) => ({ name, in: 'query', schema: { type: 'string', uniqueItems: true } });
/** Clients look for these parameters before they use server-side validation or dry run. */
const writeParameters = ['dryRun', 'fieldManager', 'fieldValidation'].map(parameter);

const pathOf = (one: Resource) =>
  `${one.group ? `/apis/${one.group}` : '/api'}/${one.version}/${one.isNamespaced ? 'namespaces/{namespace}/' : ''}${one.plural}`;

function pathsOf(found: readonly Resource[]): Record<string, unknown> {
  const paths: Record<string, unknown> = {};
  for (const one of found) {
    const operation = (action: string, parameters: unknown[] = []) => ({
      'x-kubernetes-action': action,
      'x-kubernetes-group-version-kind': kindOf(one),
      parameters,
      responses: { 200: { description: 'OK' } },
    });
    if (one.mode === 'stored') {
      paths[pathOf(one)] = { get: operation('list'), post: operation('post', writeParameters) };
      const write = {
        put: operation('put', writeParameters),
        patch: operation('patch', writeParameters),
        delete: operation('delete', writeParameters),
      };
      paths[`${pathOf(one)}/{name}`] = { get: operation('get'), ...write };
    } else paths[pathOf(one)] = one.mode === 'review' ? { post: operation('post', writeParameters) } : { get: operation('list') };
  }
  return paths;
}

const documentOf = (group: string, version: string) => {
  const found = resources.filter((one) => one.group === group && one.version === version);
  return {
    openapi: '3.0.0',
    info: { title: 'Kubernetes, embedded', version: 'unversioned' },
    paths: pathsOf(found),
    components: { schemas: schemasOf(found) },
  };
};

const keyOf = ({ group, version }: { group: string; version: string }) => (group ? `apis/${group}/${version}` : `api/${version}`);

export const openApiIndex = (hash: string) => ({
  paths: Object.fromEntries(groupVersions.map((one) => [keyOf(one), { serverRelativeURL: `/openapi/v3/${keyOf(one)}?hash=${hash}` }])),
});

export const openApiOf = (key: string): unknown => {
  const known = groupVersions.find((one) => keyOf(one) === key);
  return known && documentOf(known.group, known.version);
};
