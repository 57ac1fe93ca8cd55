/** Actions of the audit log that may be why something broke: edits, not what is done about an incident, nor keys and people. */
export const breakingActions = [
  'clusters.cluster.',
  'clusters.node.',
  'email.domain.',
  'email.route.',
  'email.sending.',
  'email.webhook.',
  'oncall.override.',
  'oncall.policy.',
  'oncall.provider.',
  'oncall.schedule.',
  'oncall.service.',
  'oncall.source.',
  'registry.image.',
  'registry.registry.',
  'registry.repository.',
  'registry.upstream.',
  'services.service.',
  'uptime.agent.',
  'uptime.maintenance.',
  'uptime.monitor.',
] as const;

const maxDetail = 500;

/** The plain values of an entry's detail as one line; the detail never holds a secret. */
export function detailLine(detail: Readonly<Record<string, unknown>>): string {
  const parts = Object.entries(detail).flatMap(([key, value]) => {
    if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return [`${key} ${value}`];
    if (Array.isArray(value) && value.every((item) => typeof item === 'string')) return value.length ? [`${key} ${value.join(', ')}`] : [];
    return [key];
  });
  const line = parts.join('; ');
  return line.length > maxDetail ? `${line.slice(0, maxDetail - 2).toWellFormed()} …` : line;
}
