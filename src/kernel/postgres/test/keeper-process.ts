/** A keeper in its own process, for tests that kill it: prints its result on one line, then stays until SIGTERM. */
import { Stop } from '../../errors.ts';
import { keepPostgres } from '../index.ts';

try {
  const kept = await keepPostgres({ dataDir: process.argv[2]!, locking: JSON.parse(process.argv[3] ?? '{}') });
  process.once('SIGTERM', () => void kept.stop());
  console.log(JSON.stringify({ kept: true, adopted: kept.adopted, postgres: kept.pid }));
} catch (error) {
  if (!(error instanceof Stop)) throw error;
  console.log(JSON.stringify({ kept: false, exitCode: error.exitCode, sentence: error.message }));
}
