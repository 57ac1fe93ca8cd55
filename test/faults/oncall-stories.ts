/** Random stories of incidents held against the model of the specification, and random deliveries, QUARTERDECK_FAULT_ROUNDS of each (default 300). */
import { test } from 'node:test';
import { tellStories } from '../../src/areas/oncall/test/escalation/tell-stories.ts';
import { countAlerts } from '../../src/areas/oncall/test/incidents/count-alerts.ts';

const rounds = Number(process.env.QUARTERDECK_FAULT_ROUNDS ?? 300);

test('the ledger holds what the model expects, whatever happens in between', { timeout: 3_600_000 }, (t) => tellStories(t, rounds));

test('whatever is delivered in whatever order, an incident says how many alerts fire without counting them', { timeout: 3_600_000 }, (t) =>
  countAlerts(t, rounds),
);
