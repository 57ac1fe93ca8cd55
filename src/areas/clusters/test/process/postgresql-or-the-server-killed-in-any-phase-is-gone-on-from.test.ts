import { test } from 'node:test';
import { postgresOf } from '../../../../../test/harness/process.ts';
import { killInEveryPhase } from './kill-in-every-phase.ts';

test('PostgreSQL is killed while clusters are made, changed and deleted', (t) =>
  killInEveryPhase(t, async ({ dataDir }) => {
    process.kill((await postgresOf(dataDir))!, 'SIGKILL');
    return undefined;
  }));

test('the server is killed while clusters are made, changed and deleted', (t) => killInEveryPhase(t, ({ restart }) => restart()));
