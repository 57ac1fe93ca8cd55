/** Retention on a server, for QUARTERDECK_FAULT_ROUNDS random repositories (default 300). */
import { test } from 'node:test';
import { judgeOnServer } from '../../src/areas/registry/test/retention/any-repository.ts';

const rounds = Number(process.env.QUARTERDECK_FAULT_ROUNDS ?? 300);

test('for any repository the same images go as without signatures, and none of a kept image', { timeout: 3_600_000 }, (t) =>
  judgeOnServer(t, rounds),
);
