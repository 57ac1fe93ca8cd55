// What may change inside /api/v1: operations and optional fields may be added, and new values in fields that are not enums or may
// grow (growing.ts).
// Everything else is found here. Several servers of one cluster answer while they are upgraded, so a document must also
// hold for the servers before it: that is why a field of an answer cannot become required either.

type Json = Record<string, unknown>;
type Side = 'request' | 'answer';

const object = (value: unknown): Json => (value !== null && typeof value === 'object' && !Array.isArray(value) ? (value as Json) : {});
const list = <T>(value: unknown): T[] => (Array.isArray(value) ? (value as T[]) : []);
const same = (a: unknown, b: unknown) => JSON.stringify(a) === JSON.stringify(b);
const methods = ['get', 'post', 'put', 'patch', 'delete'];

/** Every way in which a client written against the old OpenAPI document may fail with the new one; empty when there is none. */
export function breakingChanges(oldDoc: object, newDoc: object): string[] {
  const docs = { old: oldDoc as Json, new: newDoc as Json };
  const found: string[] = [];
  for (const [path, item] of Object.entries(object(docs.old.paths))) {
    for (const method of methods.filter((m) => m in object(item))) {
      const before = object(object(item)[method]);
      const after = object(object(docs.new.paths)[path])[method];
      const where = `${method.toUpperCase()} ${path}`;
      if (after === undefined) found.push(`${where}: removed`);
      else compareOperation(docs, where, before, object(after), (text) => found.push(text));
    }
  }
  return found;
}

type Docs = { old: Json; new: Json };
type Report = (text: string) => void;

function compareOperation(docs: Docs, where: string, before: Json, after: Json, report: Report): void {
  if (before.operationId !== after.operationId)
    report(`${where}: ${before.operationId} is now called ${after.operationId}; SDK and CLI name it so`);
  if (!same(before.security, after.security)) report(`${where}: asks for another kind of credential`);
  if (!covers(String(before['x-permission']), String(after['x-permission']))) {
    report(`${where}: needs ${after['x-permission']} instead of ${before['x-permission']}`);
  }
  if (after['x-entitlement'] && before['x-entitlement'] !== after['x-entitlement'])
    report(`${where}: needs the entitlement ${after['x-entitlement']}`);
  compareParameters(docs, where, list(before.parameters), list(after.parameters), report);
  compareRequestBody(docs, where, object(before.requestBody), object(after.requestBody), report);

  const answers = (op: Json) => Object.keys(object(op.responses)).filter((status) => status.startsWith('2'));
  for (const status of answers(before)) {
    if (!answers(after).includes(status)) report(`${where}: no longer answers ${status}`);
    else
      compareContent(
        docs,
        `${where} → ${status}`,
        object(object(before.responses)[status]),
        object(object(after.responses)[status]),
        'answer',
        report,
      );
  }
  for (const status of answers(after)) if (!answers(before).includes(status)) report(`${where}: may now answer ${status}`);
}

const tierOrder = ['read', 'write', 'admin'];
/** Whether everybody who was let in before still is: a higher tier of a resource holds the lower ones. */
function covers(before: string, after: string): boolean {
  if (before === after || after === 'none') return true;
  if (after === 'member') return before !== 'none';
  const [held, asked] = [before.split('.'), after.split('.')];
  return held[0] === asked[0] && held[1] === asked[1] && tierOrder.indexOf(asked[2] ?? '') <= tierOrder.indexOf(held[2] ?? '');
}

function compareParameters(docs: Docs, where: string, before: Json[], after: Json[], report: Report): void {
  const find = (all: Json[], p: Json) => all.find((x) => x.in === p.in && x.name === p.name);
  for (const p of before) {
    const now = find(after, p);
    if (!now) report(`${where}: the ${p.in} parameter ${p.name} is gone`);
    else compareSchema(docs, `${where} ${p.in} ${p.name}`, p.schema, now.schema, 'request', report);
  }
  for (const p of after) if (p.required && !find(before, p)?.required) report(`${where}: the ${p.in} parameter ${p.name} is now required`);
}

function compareRequestBody(docs: Docs, where: string, before: Json, after: Json, report: Report): void {
  if (after.required && !before.required) report(`${where}: the body is now required`);
  compareContent(docs, `${where} body`, before, after, 'request', report);
}

function compareContent(docs: Docs, where: string, before: Json, after: Json, side: Side, report: Report): void {
  const [was, is] = [object(before.content), object(after.content)];
  for (const type of Object.keys(was)) {
    if (!(type in is)) report(`${where}: ${type} is gone`);
    else compareSchema(docs, where, object(was[type]).schema, object(is[type]).schema, side, report);
  }
  if (side === 'answer' && !Object.keys(was).length && Object.keys(is).length) report(`${where}: has a body now`);
}

interface Shape {
  types: string[];
  schema: Json;
  /** More than one alternative besides null: compared as a whole. */
  alternatives?: unknown[];
}

function shapeOf(doc: Json, raw: unknown): Shape {
  let schema = object(raw);
  for (let depth = 0; typeof schema.$ref === 'string' && depth < 20; depth++) {
    schema = object(
      schema.$ref
        .replace(/^#\//, '')
        .split('/')
        .reduce<unknown>((at, key) => object(at)[key], doc),
    );
  }
  const branches = list<Json>(schema.anyOf ?? schema.oneOf).map((branch) => shapeOf(doc, branch));
  if (!branches.length) {
    const types = Array.isArray(schema.type) ? (schema.type as string[]) : typeof schema.type === 'string' ? [schema.type] : [];
    return { types, schema };
  }
  const live = branches.filter((b) => b.types.join() !== 'null');
  const types = [...new Set(branches.flatMap((b) => b.types))];
  return live.length === 1 ? { types, schema: live[0]!.schema } : { types, schema: {}, alternatives: live.map((b) => b.schema) };
}

const within = (narrow: string[], wide: string[]) => narrow.every((t) => wide.includes(t) || (t === 'integer' && wide.includes('number')));
const words = (types: string[]) => types.join(' or ') || 'anything';

function compareSchema(docs: Docs, where: string, oldRaw: unknown, newRaw: unknown, side: Side, report: Report, depth = 0): void {
  // Deeper than any document of ours: only a schema that contains itself gets here, and it was compared on the way down.
  if (depth > 30) return;
  const [before, after] = [shapeOf(docs.old, oldRaw), shapeOf(docs.new, newRaw)];
  if (before.alternatives || after.alternatives) {
    if (!same(before.alternatives, after.alternatives)) report(`${where}: other alternatives`);
    return;
  }
  const fits = side === 'request' ? within(before.types, after.types) : within(after.types, before.types);
  if (!fits) {
    report(`${where}: was ${words(before.types)}, is ${words(after.types)}`);
    return;
  }
  const [was, is] = [before.schema, after.schema];
  compareValues(where, was, is, side, report);
  if (was.items) compareSchema(docs, `${where}[]`, was.items, is.items, side, report, depth + 1);
  if (was.properties) compareFields(docs, where, was, is, side, report, depth);
  compareOthers(docs, where, was, is, side, report, depth);
}

function compareValues(where: string, was: Json, is: Json, side: Side, report: Report): void {
  if (side === 'answer') {
    if (was.enum && !was['x-grows'] && !(is.enum && list(is.enum).every((v) => list(was.enum).includes(v))))
      report(`${where}: may now be another value than ${list(was.enum)}`);
    if (was.format !== undefined && was.format !== is.format) report(`${where}: is no longer a ${was.format}`);
    return;
  }
  if (is.enum && !(was.enum && list(was.enum).every((v) => list(is.enum).includes(v)))) report(`${where}: takes only ${list(is.enum)} now`);
  for (const rule of ['pattern', 'format']) {
    if (is[rule] !== undefined && is[rule] !== was[rule]) report(`${where}: must be ${rule} ${is[rule]} now`);
  }
  if (is.uniqueItems && !was.uniqueItems) report(`${where}: takes no duplicates now`);
  for (const most of ['maxLength', 'maxItems', 'maxProperties', 'maximum']) {
    if (Number(is[most] ?? Infinity) < Number(was[most] ?? Infinity)) report(`${where}: ${most} is ${is[most]} now`);
  }
  for (const least of ['minLength', 'minItems', 'minProperties', 'minimum']) {
    if (Number(is[least] ?? -Infinity) > Number(was[least] ?? -Infinity)) report(`${where}: ${least} is ${is[least]} now`);
  }
}

function compareFields(docs: Docs, where: string, was: Json, is: Json, side: Side, report: Report, depth: number): void {
  const [had, has] = [object(was.properties), object(is.properties)];
  const needed = { before: list<string>(was.required), after: list<string>(is.required) };
  for (const name of Object.keys(had)) {
    if (!(name in has)) report(`${where}.${name}: removed`);
    else compareSchema(docs, `${where}.${name}`, had[name], has[name], side, report, depth + 1);
  }
  for (const name of needed.after)
    if (!needed.before.includes(name)) report(`${where}.${name}: ${name in had ? 'is now required' : 'is new, so it must be optional'}`);
  if (side === 'request') return;
  for (const name of needed.before) if (name in has && !needed.after.includes(name)) report(`${where}.${name}: may now be absent`);
}

/** Fields beyond the named ones: the values of a map, or whether unknown fields are taken. */
function compareOthers(docs: Docs, where: string, was: Json, is: Json, side: Side, report: Report, depth: number): void {
  const [before, after] = [was.additionalProperties, is.additionalProperties];
  if (side === 'request' && after === false && before !== false && was.type === 'object') report(`${where}: refuses unknown fields now`);
  if (before !== null && typeof before === 'object') compareSchema(docs, `${where}.*`, before, after, side, report, depth + 1);
}
