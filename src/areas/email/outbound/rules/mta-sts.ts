/** An MTA-STS policy (RFC 8461). */
export interface StsPolicy {
  mode: 'enforce' | 'testing' | 'none';
  /** Names of mail servers; `*.` in front stands for one label. */
  mx: string[];
  maxAgeSeconds: number;
}

/** Any domain can serve a policy, so its size is bounded. `patternBytes` covers all patterns, since a policy may be cached for a year. */
const limits = { lines: 1_000, line: 1_024, record: 1_024, patterns: 100, patternBytes: 4_096, ageSeconds: 31_557_600 };

/** The policy id, which changes with the policy. Undefined: no record, or more than one. */
export function readStsId(texts: readonly string[]): string | undefined {
  const records = texts
    .filter((text) => text.length <= limits.record)
    .map((text) => text.split(';'))
    .filter(([version, ...rest]) => version!.trimEnd() === 'v=STSv1' && rest.length > 0);
  const id = records.length === 1 ? records[0]!.map((field) => field.trim()).find((field) => field.startsWith('id=')) : undefined;
  return id !== undefined && /^id=[A-Za-z0-9]{1,32}$/.test(id) ? id.slice(3) : undefined;
}

/** Undefined: invalid policy. */
export function readStsPolicy(text: string): StsPolicy | undefined {
  const lines = text.split('\n', limits.lines + 1);
  if (lines.length > limits.lines) return undefined;
  const fields = lines.flatMap(readField);
  const first = (name: string) => fields.find(([field]) => field === name)?.[1];
  const mode = first('mode');
  const age = first('max_age');
  const mx = fields.filter(([field]) => field === 'mx').map(([, value]) => withoutDot(value.toLowerCase()));
  if (first('version') !== 'STSv1' || (mode !== 'enforce' && mode !== 'testing' && mode !== 'none')) return undefined;
  if (age === undefined || !/^\d{1,10}$/.test(age) || mx.length > limits.patterns || (mx.length === 0 && mode !== 'none')) return undefined;
  if (mx.join().length > limits.patternBytes) return undefined;
  return { mode, mx, maxAgeSeconds: Math.min(limits.ageSeconds, Number(age)) };
}

/** `name: value`. RFC 8461, 3.2 allows further fields, so unknown lines are ignored. */
function readField(line: string): [name: string, value: string][] {
  const colon = line.length <= limits.line ? line.indexOf(':') : -1;
  return colon < 0 ? [] : [[line.slice(0, colon).trim().toLowerCase(), line.slice(colon + 1).trim()]];
}

const withoutDot = (name: string): string => (name.endsWith('.') ? name.slice(0, -1) : name);

export const isNamedBySts = (host: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) =>
    pattern.startsWith('*.') ? host.slice(host.indexOf('.')) === pattern.slice(1) && host.includes('.') : host === pattern,
  );
