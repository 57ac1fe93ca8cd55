/** What a domain demands of those who send to it (RFC 8461). */
export interface StsPolicy {
  mode: 'enforce' | 'testing' | 'none';
  /** Names of mail servers; `*.` in front stands for one label. */
  mx: string[];
  maxAgeSeconds: number;
}

const mostPatterns = 100;
const longestAge = 31_557_600;

/** The id of the policy, which changes with it. Undefined: there is none, or more than one. */
export function readStsId(texts: readonly string[]): string | undefined {
  const records = texts.filter((text) => /^v=STSv1\s*;/.test(text));
  return records.length === 1 ? /;\s*id=([A-Za-z0-9]{1,32})\s*(?:;|$)/.exec(records[0]!)?.[1] : undefined;
}

/** Undefined: it is not a policy that can be followed. */
export function readStsPolicy(text: string): StsPolicy | undefined {
  const fields = text
    .split(/\r?\n/)
    .map((line) => /^\s*([A-Za-z0-9_.-]+)\s*:\s*(.*?)\s*$/.exec(line))
    .flatMap((match) => (match === null ? [] : [[match[1]!.toLowerCase(), match[2]!] as const]));
  const first = (name: string) => fields.find(([field]) => field === name)?.[1];
  const mode = first('mode');
  const age = first('max_age');
  const mx = fields.filter(([field]) => field === 'mx').map(([, value]) => value.toLowerCase().replace(/\.$/, ''));
  if (first('version') !== 'STSv1' || (mode !== 'enforce' && mode !== 'testing' && mode !== 'none')) return undefined;
  if (age === undefined || !/^\d{1,10}$/.test(age) || mx.length > mostPatterns || (mx.length === 0 && mode !== 'none')) return undefined;
  return { mode, mx, maxAgeSeconds: Math.min(longestAge, Number(age)) };
}

export const isNamedBySts = (host: string, patterns: readonly string[]): boolean =>
  patterns.some((pattern) =>
    pattern.startsWith('*.') ? host.slice(host.indexOf('.')) === pattern.slice(1) && host.includes('.') : host === pattern,
  );
