import { type RecordedFault, readFaults } from '../../kernel/faults/record.ts';
import { type Finding, ok, warn } from './finding.ts';

const days = 7;

/** Of this machine: each server writes its faults beside its data. */
export const checkFaults = (dataDir: string): Finding[] => judgeFaults(readFaults(dataDir), Date.now());

export function judgeFaults(all: readonly RecordedFault[], now: number): Finding[] {
  const recent = all.filter(({ at }) => now - Date.parse(at) < days * 86_400_000);
  const ends = recent.filter(({ kind }) => kind === 'uncaught');
  const caught = recent.filter(({ kind }) => kind === 'handler');
  const last = (some: readonly RecordedFault[]) => `last at ${some.at(-1)!.at}: ${some.at(-1)!.message}`;
  return [
    ...(ends.length
      ? [
          warn(
            'faults',
            `the server ended ${ends.length} times in ${days} days by an exception, ${last(ends)}; look in its log, and report it`,
          ),
        ]
      : []),
    ...(caught.length
      ? [
          warn(
            'faults',
            `${caught.length} exceptions in ${days} days ended the connection that caused them, in ${[...new Set(caught.map(({ name }) => name))].join(', ')}, ${last(caught)}; look in the log, and report it`,
          ),
        ]
      : []),
    ...(recent.length ? [] : [ok('faults', `no exception in ${days} days that nobody foresaw`)]),
  ];
}
