import { badRequest } from '../../status.ts';
import type { Json, KubeObject } from './object.ts';
import { type FieldRequirement, isInteger, type LabelRequirement, readFields, readLabels, requireSelectorLength } from './selector-text.ts';

// Label and field selectors of a query.

export interface Selector {
  labels: readonly LabelRequirement[];
  fields: readonly FieldRequirement[];
}

/** The part of an object that selectors can match. The change log stores the previous one where it differs. */
export interface Selectable {
  labels: Readonly<Record<string, string>>;
  fields: Readonly<Record<string, string>>;
}

export function readSelector(labelText: string, fieldText: string, { kind, group }: { kind: string; group: string }): Selector {
  requireSelectorLength(labelText);
  requireSelectorLength(fieldText);
  const fields = readFields(fieldText);
  for (const { field } of fields) requireField(field, kind, group);
  return { labels: readLabels(labelText), fields };
}

const alwaysSelectable = ['metadata.name', 'metadata.namespace'];
/** Selectable fields by kind, beside name and namespace, as in Kubernetes. */
const selectable: Readonly<Record<string, readonly string[]>> = {
  Namespace: ['status.phase'],
  Node: ['spec.unschedulable'],
  Secret: ['type'],
  Service: ['spec.clusterIP', 'spec.type'],
  CertificateSigningRequest: ['spec.signerName'],
  Event: [
    ...['kind', 'namespace', 'name', 'uid', 'apiVersion', 'resourceVersion', 'fieldPath'].flatMap((name) => [
      `involvedObject.${name}`,
      `regarding.${name}`,
    ]),
    'reason',
    'type',
    'reportingComponent',
    'reportingController',
    'source',
  ],
};
/** Always empty kinds accept any spec or status field: nothing would match. */
const isOfEmptyKind = (field: string) => field.startsWith('spec.') || field.startsWith('status.');

/** Each of the two event groups accepts only its own field names. */
const isOfCoreEvents = (field: string) => ['reportingComponent', 'source'].includes(field) || field.startsWith('involvedObject.');
const isOfNewEvents = (field: string) => field === 'reportingController' || field.startsWith('regarding.');

function requireField(field: string, kind: string, group: string): void {
  const isKnown = alwaysSelectable.includes(field) || (selectable[kind]?.includes(field) ?? isOfEmptyKind(field));
  const isOfOther = kind === 'Event' && (group === '' ? isOfNewEvents(field) : isOfCoreEvents(field));
  if (!isKnown || isOfOther) throw badRequest(`field label not supported: ${field}`);
}

export function selectableOf(object: KubeObject): Selectable {
  const fields: Record<string, string> = { 'metadata.name': object.metadata.name, 'metadata.namespace': object.metadata.namespace ?? '' };
  for (const path of selectable[object.kind] ?? []) fields[path] = readPath(object, path);
  return { labels: object.metadata.labels ?? {}, fields };
}

/** Events are stored in one form and selected by the field names of two. */
const aliases: Record<string, string> = {
  regarding: 'involvedObject',
  reportingController: 'reportingComponent',
  source: 'source.component',
};

function readPath(object: KubeObject, path: string): string {
  const [first, ...rest] = path.split('.') as [string, ...string[]];
  const real = object.kind === 'Event' && aliases[first] ? [...aliases[first].split('.'), ...rest] : [first, ...rest];
  let at: unknown = object;
  for (const part of real) at = (at as Json | undefined)?.[part];
  if (path === 'spec.unschedulable') return String(at ?? false);
  // As in Kubernetes: newer clients set reportingComponent only.
  if (path === 'source' && !at) at = object['reportingComponent'];
  return at === undefined ? '' : String(at);
}

export const selectsAll = ({ labels, fields }: Selector): boolean => labels.length === 0 && fields.length === 0;

export function isSelected({ labels, fields }: Selector, seen: Selectable): boolean {
  return (
    fields.every(({ field, value: wanted, isEqual }) => ((seen.fields[field] ?? '') === wanted) === isEqual) &&
    labels.every((requirement) => meets(requirement, seen.labels))
  );
}

function meets({ key: name, operator, values }: LabelRequirement, labels: Readonly<Record<string, string>>): boolean {
  const has = Object.hasOwn(labels, name);
  const own = has ? labels[name]! : '';
  if (operator === 'exists') return has;
  if (operator === 'absent') return !has;
  if (operator === 'in') return has && values.has(own);
  if (operator === 'notin') return !has || !values.has(own);
  const [bound] = [...values].map(Number) as [number];
  if (!has || !isInteger(own)) return false;
  return operator === 'gt' ? Number(own) > bound : Number(own) < bound;
}

/** A name that every result must have; the database then reads that row only. */
export const selectedName = ({ fields }: Selector): string | undefined =>
  fields.find(({ field, isEqual }) => field === 'metadata.name' && isEqual)?.value;

/** Matches a label selector inside an object, such as an aggregation rule. */
export function matchesLabels(selector: unknown, labels: Readonly<Record<string, string>>): boolean {
  const { matchLabels = {}, matchExpressions = [] } = (selector ?? {}) as {
    matchLabels?: Record<string, string>;
    matchExpressions?: { key?: string; operator?: string; values?: string[] }[];
  };
  const operators: Record<string, LabelRequirement['operator']> = { In: 'in', NotIn: 'notin', Exists: 'exists', DoesNotExist: 'absent' };
  return (
    Object.entries(matchLabels).every(([name, wanted]) => Object.hasOwn(labels, name) && labels[name] === wanted) &&
    matchExpressions.every(({ key: name = '', operator = '', values = [] }) => {
      const known = operators[operator];
      return known !== undefined && meets({ key: name, operator: known, values: new Set(values) }, labels);
    })
  );
}
