// Takes as much of a core as an attacker does, with the same little priority, and asks the server for nothing: beside it the quiet figures
// are measured, so that what the kernel's scheduler gives to another process is not taken for what the server does for one.
import { setPriority } from 'node:os';

setPriority(19);
process.once('disconnect', () => process.exit());
const burn = () => {
  const until = performance.now() + 20;
  while (performance.now() < until);
  setImmediate(burn);
};
burn();
