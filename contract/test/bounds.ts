type Json = Record<string, unknown>;

/** Where a schema of what clients send lets in more than it says: endless strings, lists, maps or numbers, or unknown fields. */
export function unbounded(schema: unknown, where = 'body'): string[] {
  const s = schema as Json;
  const branches = (s.anyOf ?? s.oneOf) as unknown[] | undefined;
  if (branches) return branches.flatMap((branch, i) => unbounded(branch, `${where}|${i}`));
  if (Array.isArray(s.enum) || 'const' in s) return [];
  switch (s.type) {
    case 'null':
    case 'boolean':
      return [];
    case 'string':
      return typeof s.maxLength === 'number' ? [] : [`${where}: no maxLength`];
    case 'integer':
    case 'number':
      return typeof s.minimum === 'number' && typeof s.maximum === 'number' ? [] : [`${where}: no minimum and maximum`];
    case 'array':
      return [...(typeof s.maxItems === 'number' ? [] : [`${where}: no maxItems`]), ...unbounded(s.items, `${where}[]`)];
    case 'object':
      return s.properties ? unboundedFields(s, where) : unboundedMap(s, where);
    default:
      return [`${where}: no type`];
  }
}

function unboundedFields(s: Json, where: string): string[] {
  const fields = Object.entries(s.properties as Json).flatMap(([name, field]) => unbounded(field, `${where}.${name}`));
  return s.additionalProperties === false ? fields : [`${where}: takes unknown fields`, ...fields];
}

function unboundedMap(s: Json, where: string): string[] {
  if (s.additionalProperties === null || typeof s.additionalProperties !== 'object') return [`${where}: a map of anything`];
  return [
    ...(typeof s.maxProperties === 'number' ? [] : [`${where}: no maxProperties`]),
    ...(s.propertyNames ? unbounded(s.propertyNames, `${where} names`) : [`${where}: names of any length`]),
    ...unbounded(s.additionalProperties, `${where}.*`),
  ];
}
