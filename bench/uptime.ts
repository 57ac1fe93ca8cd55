/**
 * What uptime promises, measured: our checks beside blackbox_exporter's, a prober with ten thousand monitors, a week's metrics out of ten
 * million rows, and the API while probes run.
 * `npm run bench -- uptime`, or some parts of it: `npm run bench -- uptime cpu lateness metrics api`
 */
import { availableParallelism, loadavg } from 'node:os';
import { apiWhileProbing } from './uptime/api-while-probing.ts';
import { cpuPerCheck } from './uptime/cpu-per-check.ts';
import { lateness } from './uptime/lateness.ts';
import { metricsQuery } from './uptime/metrics-query.ts';
import { endPrograms } from './uptime/programs.ts';

const parts = { cpu: cpuPerCheck, lateness, metrics: metricsQuery, api: apiWhileProbing };

const wanted = process.argv.slice(3);
console.log(`${availableParallelism()} cores, load ${loadavg()[0]!.toFixed(1)}, shared by targets, probers and this program\n`);
for (const [name, measure] of Object.entries(parts)) {
  if (wanted.length > 0 && !wanted.includes(name)) continue;
  try {
    await measure();
  } finally {
    await endPrograms();
  }
}
