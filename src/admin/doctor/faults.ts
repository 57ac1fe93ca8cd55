import { type RecordedFault, readFaults } from '../../kernel/faults/record.ts';
import { type Finding, ok, warn } from './finding.ts';

const days = 7;

/** Of this machine: each server writes its faults beside its data. */
export const checkFaults = (dataDir: string): Finding[] => judgeFaults(readFaults(dataDir), Date.now());

export function judgeFaults(all: readonly RecordedFault[], now: number): Finding[] {
  const recent = all.filter(({ at }) => now - Date.parse(at) < days * 86_400_000);
  const ends = recent.filter(({ kind }) => kind === 'uncaught');
  const caught = recent.filter(({ kind }) => kind === 'handler');
  return [
    ...(ends.length ? [warn('faults', tellEnds(ends))] : []),
    ...(caught.length ? [warn('faults', tellCaught(caught))] : []),
    ...(recent.length ? [] : [ok('faults', `no crash in ${days} days, and no unexpected exception`)]),
  ];
}

const unforeseen = 'an exception';

/** The server writes down its own exceptions; of a signal its parent tells the next server (src/commands/serve.ts). */
const causeOf = ({ name, message }: RecordedFault): string => (name === 'signal' ? message.split(' ended by ').at(-1)! : unforeseen);

const times = (count: number): string => (count === 1 ? 'once' : `${count} times`);

function tellEnds(ends: readonly RecordedFault[]): string {
  const causes = new Map<string, number>();
  for (const end of ends) causes.set(causeOf(end), (causes.get(causeOf(end)) ?? 0) + 1);
  const each = [...causes].map(([cause, count]) => `${times(count)} by ${cause}`).join('; ');
  const by = causes.size === 1 ? `by ${causeOf(ends[0]!)}` : `(${each})`;
  const last = ends.at(-1)!;
  const words = causeOf(last) === unforeseen ? `: ${last.message}` : '';
  const remedies = [
    ...([...causes.keys()].some((cause) => cause.includes('memory') || cause.includes('heap')) ? ['give it more memory'] : []),
    causes.has(unforeseen) ? 'look in its log, and report it' : 'look in its log, and in the system’s, who ended it',
  ];
  return `the server crashed ${times(ends.length)} in ${days} days ${by}, last at ${last.at}${words}; ${remedies.join('; ')}`;
}

function tellCaught(caught: readonly RecordedFault[]): string {
  const last = caught.at(-1)!;
  const what = caught.length === 1 ? 'one exception' : `${caught.length} exceptions`;
  const handlers = [...new Set(caught.map(({ name }) => name))].join(', ');
  const whose = caught.length === 1 ? 'the connection that caused it' : 'the connections that caused them';
  return `${what} in ${days} days ended ${whose}, in ${handlers}, last at ${last.at}: ${last.message}; look in the log, and report it`;
}
