/** Random stories of incidents held against the model of the specification, QUARTERDECK_FAULT_ROUNDS of them (default 300). */
import { test } from 'node:test';
import { tellStories } from '../../src/areas/oncall/test/walks/tell-stories.ts';

const rounds = Number(process.env.QUARTERDECK_FAULT_ROUNDS ?? 300);

test('the ledger holds what the model expects, whatever happens in between', { timeout: 3_600_000 }, (t) => tellStories(t, rounds));
