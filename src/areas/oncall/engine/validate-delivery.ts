import { invalid } from '../../../kernel/errors.ts';
import { yieldToLoop } from '../../../kernel/yielding.ts';
import { fingerprintOf, maxAlertsPerDelivery, type ReceivedAlert } from '../rules/alerts.ts';
import { validateAlert } from '../rules/validate-alert.ts';

/** The valid alerts of a delivery, and the problems of the others. */
export interface ValidatedAlerts {
  alerts: ReceivedAlert[];
  /** Alerts dropped above the limit. */
  omitted: number;
  rejected: number;
  /** The first few reasons. */
  problems: string[];
}

/** Alerts validated between two yields to the event loop. */
export const alertsPerSlice = 500;
const maxProblems = 10;
/** Occurrences of one alert in one delivery; a real group has each alert once. */
const maxOccurrencesPerDelivery = 100;

/**
 * Validates each alert on its own, in slices. An invalid alert does not affect the others, and a large delivery does not block the event
 * loop.
 */
export async function validateAlerts(given: unknown, name: 'alerts' | ''): Promise<ValidatedAlerts> {
  if (!Array.isArray(given)) return invalid(`${name || 'the body'} ${given === undefined && name ? 'is required' : 'must be an array'}`);
  const { kept, omitted } = await selectWithinLimit(given);
  const validated: ValidatedAlerts = { alerts: [], omitted, rejected: 0, problems: [] };
  const occurrences = new Map<string, number>();
  for (const [n, i] of kept.entries()) {
    if (n % alertsPerSlice === alertsPerSlice - 1) await yieldToLoop();
    const where = name ? `${name}.${i}` : String(i);
    const checked = validateAlert(given[i], where);
    if ('problem' in checked) {
      reject(validated, checked.problem);
      continue;
    }
    const fingerprint = fingerprintOf(checked.alert);
    const times = (occurrences.get(fingerprint) ?? 0) + 1;
    occurrences.set(fingerprint, times);
    if (times > maxOccurrencesPerDelivery)
      reject(validated, `${where} repeats one alert more than ${maxOccurrencesPerDelivery} times in a delivery`);
    else validated.alerts.push({ ...checked.alert, fingerprint });
  }
  return validated;
}

function reject(validated: ValidatedAlerts, problem: string): void {
  validated.rejected++;
  if (validated.problems.length < maxProblems) validated.problems.push(problem);
}

/** Indexes of the alerts to validate. Above the limit, firing alerts come first because they cause pages. */
async function selectWithinLimit(given: readonly unknown[]): Promise<{ kept: number[]; omitted: number }> {
  if (given.length <= maxAlertsPerDelivery) return { kept: [...given.keys()], omitted: 0 };
  const firing: number[] = [];
  const resolved: number[] = [];
  for (let i = 0; i < given.length && firing.length < maxAlertsPerDelivery; i++) {
    if (i % (alertsPerSlice * 20) === alertsPerSlice * 20 - 1) await yieldToLoop();
    if ((given[i] as { status?: unknown } | null)?.status !== 'resolved') firing.push(i);
    else if (resolved.length < maxAlertsPerDelivery) resolved.push(i);
  }
  return { kept: [...firing, ...resolved].slice(0, maxAlertsPerDelivery), omitted: given.length - maxAlertsPerDelivery };
}
