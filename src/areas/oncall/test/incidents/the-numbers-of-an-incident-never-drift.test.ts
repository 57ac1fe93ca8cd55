import { test } from 'node:test';
import { countAlerts } from './count-alerts.ts';

// Some deliveries in every run; the campaign of stories makes many.
test('whatever is delivered in whatever order, an incident says how many alerts fire without counting them', { timeout: 120_000 }, (t) =>
  countAlerts(t, 10),
);
