// Which fields of a form hold a secret. Drafts leave them out, and “as code” names them without their value. Pure.

/** Full paths: `http.headers` may hold a credential, `headers` of a mail hold none. */
const secretPath =
  /(^|\.)(\w*password|\w*passphrase|\w*secret|\w*_?token|authorization|deviceCode)$|(^|\.)(http\.(headers|bodyBase64)|tcp\.sendBase64)$/i;

export const isSecret = (path: string): boolean => secretPath.test(path);

const pathOf = (above: string, name: string): string => (above ? `${above}.${name}` : name);

/** A field of the command table, as far as it matters here. */
interface Spec {
  name: string;
  fields?: readonly Spec[] | undefined;
}

/** What was typed, without what is secret. */
export function withoutSecretFields(fields: readonly Spec[], typed: object, above = ''): Record<string, unknown> {
  const known = new Map(fields.map((field) => [field.name, field]));
  return Object.fromEntries(
    Object.entries(typed).flatMap(([name, value]: [string, unknown]) => {
      const field = known.get(name);
      const path = pathOf(above, name);
      if (field && isSecret(path)) return [];
      const inner = field?.fields;
      if (!inner || typeof value !== 'object' || value === null) return [[name, value]];
      const without = (item: object) => withoutSecretFields(inner, item, path);
      return [[name, Array.isArray(value) ? value.map(without) : without(value)]];
    }),
  );
}

const placeholder = '<secret>';

/** An input of the API with a placeholder for each secret. */
export function masked(input: unknown, path = ''): unknown {
  if (input === undefined || input === null) return input;
  if (path && isSecret(path)) {
    if (typeof input !== 'object' || Array.isArray(input)) return placeholder;
    return Object.fromEntries(Object.keys(input).map((name) => [name, placeholder]));
  }
  if (Array.isArray(input)) return input.map((item) => masked(item, path));
  if (typeof input !== 'object') return input;
  return Object.fromEntries(Object.entries(input).map(([name, value]) => [name, masked(value, pathOf(path, name))]));
}
