import { Counter, type Registry } from 'prom-client';
import { faultCounts } from '../kernel/faults/faults.ts';
import { readFaults } from '../kernel/faults/record.ts';

/** Unexpected exceptions. Those that ended a process are counted from its fault file, since its own counters ended with it. */
export function measureFaults(registry: Registry, dataDir: string): void {
  const ended = readFaults(dataDir).filter(({ kind }) => kind === 'uncaught').length;
  new Counter({
    name: 'quarterdeck_faults_total',
    help: 'Unexpected exceptions, by kind: handler (it ended one connection) or uncaught (it ended the process)',
    labelNames: ['kind', 'handler'],
    registers: [registry],
    collect() {
      this.reset();
      this.inc({ kind: 'uncaught', handler: '' }, ended);
      for (const { kind, name, count } of faultCounts()) this.inc({ kind, handler: kind === 'handler' ? name : '' }, count);
    },
  });
}
