import { invalid } from '../../../kernel/errors.ts';
import { yieldToLoop } from '../../../kernel/yielding.ts';
import { fingerprintOf, mostAlerts, type Sent } from '../rules/alerts.ts';
import { judgeAlert } from '../rules/judge-alert.ts';

/** The alerts of a delivery that can be taken in, and what is said of the others. */
export interface Judged {
  alerts: Sent[];
  /** How many were left out because there were too many. */
  left: number;
  rejected: number;
  /** The first few reasons. */
  problems: string[];
}

/** So many are looked at before everybody else has a turn. */
export const sliceLength = 500;
const mostProblems = 10;
/** Occurrences of one alert in one delivery: a group has each alert once. */
const mostOccurrences = 100;

/** Looks at every alert by itself, in slices, so that neither a bad one nor very many of them keep the others from being heard. */
export async function judgeAlerts(given: unknown, name: 'alerts' | ''): Promise<Judged> {
  if (!Array.isArray(given)) return invalid(`${name || 'the body'} ${given === undefined && name ? 'is required' : 'must be an array'}`);
  const { kept, left } = await cutToLimit(given);
  const judged: Judged = { alerts: [], left, rejected: 0, problems: [] };
  const occurrences = new Map<string, number>();
  for (const [n, i] of kept.entries()) {
    if (n % sliceLength === sliceLength - 1) await yieldToLoop();
    const where = name ? `${name}.${i}` : String(i);
    const looked = judgeAlert(given[i], where);
    if ('problem' in looked) {
      reject(judged, looked.problem);
      continue;
    }
    const fingerprint = fingerprintOf(looked.alert);
    const times = (occurrences.get(fingerprint) ?? 0) + 1;
    occurrences.set(fingerprint, times);
    if (times > mostOccurrences) reject(judged, `${where} repeats one alert more than ${mostOccurrences} times in a delivery`);
    else judged.alerts.push({ ...looked.alert, fingerprint });
  }
  return judged;
}

function reject(judged: Judged, problem: string): void {
  judged.rejected++;
  if (judged.problems.length < mostProblems) judged.problems.push(problem);
}

/** Which alerts are looked at, by their place: when there are too many, those that fire come first, for they are the ones to page for. */
async function cutToLimit(given: readonly unknown[]): Promise<{ kept: number[]; left: number }> {
  if (given.length <= mostAlerts) return { kept: [...given.keys()], left: 0 };
  const firing: number[] = [];
  const resolved: number[] = [];
  for (let i = 0; i < given.length && firing.length < mostAlerts; i++) {
    if (i % (sliceLength * 20) === sliceLength * 20 - 1) await yieldToLoop();
    if ((given[i] as { status?: unknown } | null)?.status !== 'resolved') firing.push(i);
    else if (resolved.length < mostAlerts) resolved.push(i);
  }
  return { kept: [...firing, ...resolved].slice(0, mostAlerts), left: given.length - mostAlerts };
}
