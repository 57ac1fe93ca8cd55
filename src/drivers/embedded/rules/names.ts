import { type Cause, invalidValue, requiredValue } from '../../status.ts';
import type { KubeObject, ObjectMeta } from './object.ts';
import { textsOf } from './object.ts';

// Validates names, labels and annotations by Kubernetes' rules.

const subdomain = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const label = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const serviceLabel = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const qualifiedName = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;

const subdomainMessage =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const labelMessage =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

const isSubdomain = (text: string) => text.length <= 253 && subdomain.test(text);
const isLabel = (text: string) => text.length <= 63 && label.test(text);

/** The reason why a name is invalid for this kind; undefined if it is valid. */
export function validateName(kind: string, name: string): string | undefined {
  if (/Role(Binding)?$/.test(kind))
    return name.length <= 253 && name !== '.' && name !== '..' && !/[/%]/.test(name)
      ? undefined
      : 'may not contain \'/\' or \'%\', or be "." or ".."';
  if (kind === 'Namespace') return isLabel(name) ? undefined : labelMessage;
  if (kind === 'Service')
    return name.length <= 63 && serviceLabel.test(name)
      ? undefined
      : "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character (e.g. 'my-name',  or 'abc-123', regex used for validation is '[a-z]([-a-z0-9]*[a-z0-9])?')";
  return isSubdomain(name) ? undefined : subdomainMessage;
}

const maxAnnotationBytes = 262_144;

export function validateMeta(object: KubeObject): Cause[] {
  const { metadata, kind } = object;
  const causes: Cause[] = [];
  if (!metadata.name) causes.push(requiredValue('metadata.name', 'name or generateName is required'));
  else {
    const why = validateName(kind, metadata.name);
    if (why) causes.push(invalidValue('metadata.name', metadata.name, why));
  }
  for (const cause of [...validateLabels(metadata), ...validateAnnotations(metadata)]) causes.push(cause);
  for (const [at, finalizer] of (metadata.finalizers ?? []).entries())
    if (!isLabelKey(finalizer))
      causes.push(
        invalidValue(`metadata.finalizers[${at}]`, finalizer, 'name is neither a standard finalizer name nor is it fully qualified'),
      );
  for (const [at, owner] of (metadata.ownerReferences ?? []).entries()) {
    if (!/^[\x21-\x7e]{0,128}$/.test(owner.uid ?? ''))
      causes.push(invalidValue(`metadata.ownerReferences[${at}].uid`, owner.uid, 'is no uid'));
    for (const field of ['apiVersion', 'kind', 'name', 'uid'] as const)
      if (!owner[field]) causes.push(requiredValue(`metadata.ownerReferences[${at}].${field}`));
  }
  return causes.slice(0, 20);
}

/** Finalizers of a namespace, set on creation or through the subresource `finalize`. */
export const validateFinalizers = ({ kind, spec }: KubeObject): Cause[] =>
  (kind === 'Namespace' ? textsOf(spec?.['finalizers']) : [])
    .filter((finalizer) => !isLabelKey(finalizer))
    .map((finalizer) =>
      invalidValue('spec.finalizers', finalizer.slice(0, 300), 'name is neither a standard finalizer name nor is it fully qualified'),
    )
    .slice(0, 20);

/** An optional domain prefix, a slash, and a name. */
export function isLabelKey(text: string): boolean {
  const slash = text.indexOf('/');
  const name = slash < 0 ? text : text.slice(slash + 1);
  return (slash < 0 || isSubdomain(text.slice(0, slash))) && name.length <= 63 && qualifiedName.test(name);
}

/** An empty label value is valid. */
export const isLabelValue = (text: string): boolean => text === '' || (text.length <= 63 && qualifiedName.test(text));

function validateLabels({ labels = {} }: ObjectMeta): Cause[] {
  const causes: Cause[] = [];
  for (const [key, value] of Object.entries(labels)) {
    if (!isLabelKey(key))
      causes.push(
        invalidValue(
          'metadata.labels',
          key,
          "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character",
        ),
      );
    if (!isLabelValue(value))
      causes.push(
        invalidValue(
          'metadata.labels',
          value,
          "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', at most 63 of them, and must start and end with an alphanumeric character",
        ),
      );
  }
  return causes;
}

function validateAnnotations({ annotations = {} }: ObjectMeta): Cause[] {
  let bytes = 0;
  const causes: Cause[] = [];
  for (const [key, value] of Object.entries(annotations)) {
    bytes += Buffer.byteLength(key) + Buffer.byteLength(value);
    if (!isLabelKey(key.toLowerCase())) causes.push(invalidValue('metadata.annotations', key, 'is not a qualified name'));
  }
  if (bytes > maxAnnotationBytes)
    causes.push({
      reason: 'FieldValueTooLong',
      field: 'metadata.annotations',
      message: `Too long: may not be more than ${maxAnnotationBytes} bytes`,
    });
  return causes;
}

const suffixAlphabet = 'bcdfghjklmnpqrstvwxz2456789';

/** Appends a random suffix to `generateName`; `random` has at least five bytes. */
export const appendRandomSuffix = (begin: string, random: Uint8Array): string =>
  begin.slice(0, 58) + [...random.subarray(0, 5)].map((byte) => suffixAlphabet[byte % suffixAlphabet.length]).join('');
