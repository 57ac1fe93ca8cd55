// Validates one alert. Limits are checked first, so that a huge alert costs no more than the check.
import { type ReceivedAlert, truncate } from './alerts.ts';

type TextMap = Record<string, string>;

/** Labels, and annotations, that one alert may have. */
export const maxEntries = 100;
const maxNameLength = 256;
/** A longer value is truncated: people do not read it, and every list would carry it. */
const maxValueLength = 4_096;
/** All names and values of one alert together. Above this, each value is truncated to the shorter length. */
const maxAlertLength = 32_768;
const truncatedValueLength = 128;

const isRecord = (given: unknown): given is Record<string, unknown> => typeof given === 'object' && given !== null && !Array.isArray(given);

/** PostgreSQL's text cannot hold NUL, nor its jsonb half of a surrogate pair. */
const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed();
const storable = (text: string) => text.replaceAll('\0', '\ufffd').toWellFormed();

/** The valid part of the alert, or its problem. `where` names the alert to its sender. */
export function validateAlert(given: unknown, where: string): { alert: ReceivedAlert } | { problem: string } {
  if (!isRecord(given)) return { problem: `${where} must be an object` };
  const { labels, annotations } = given;
  if (!isRecord(labels)) return { problem: `${where}.labels ${labels === undefined ? 'is required' : 'must be an object'}` };
  const problem = findLabelProblem(labels, where);
  if (problem) return { problem };
  return {
    alert: shorten({
      labels: labels as TextMap,
      annotations: isRecord(annotations) ? readableAnnotations(annotations) : {},
      ...stringFieldsOf(given),
    }),
  };
}

/** Labels identify the alert, so an invalid one is never guessed at. */
function findLabelProblem(labels: Record<string, unknown>, where: string): string | undefined {
  let n = 0;
  for (const name in labels) {
    if (++n > maxEntries) return `${where}.labels must have at most ${maxEntries} entries`;
    const value = labels[name];
    const path = `${where}.labels.${truncate(storable(name), 64)}`;
    if (name.length > maxNameLength || !isStorable(name)) return `${path} has a name that is too long or not text`;
    if (typeof value !== 'string') return `${path} must be a string`;
    if (!isStorable(value)) return `${path} must not contain the NUL character or half of a surrogate pair`;
  }
  return undefined;
}

/** Annotations only explain, so invalid ones and those above the limit are dropped. */
function readableAnnotations(given: Record<string, unknown>): TextMap {
  const kept: TextMap = {};
  let n = 0;
  for (const name in given) {
    if (++n > maxEntries) break;
    const value = given[name];
    if (typeof value === 'string' && name.length <= maxNameLength) kept[storable(name)] = storable(value);
  }
  return kept;
}

const textFields = ['status', 'startsAt', 'endsAt', 'generatorURL', 'fingerprint'] as const;

function stringFieldsOf(given: Record<string, unknown>): Pick<ReceivedAlert, (typeof textFields)[number]> {
  const kept: Pick<ReceivedAlert, (typeof textFields)[number]> = {};
  for (const name of textFields) {
    const value = given[name];
    // A long fingerprint is hashed later, so it is not truncated here.
    if (typeof value === 'string') kept[name] = storable(name === 'fingerprint' ? value : value.slice(0, maxValueLength));
  }
  return kept;
}

function shorten(alert: ReceivedAlert & { annotations: TextMap }): ReceivedAlert {
  const lengths = [alert.labels, alert.annotations].flatMap((words) => Object.entries(words)).map(([n, v]) => n.length + v.length);
  const maxLength = lengths.reduce((sum, n) => sum + n, 0) > maxAlertLength ? truncatedValueLength : maxValueLength;
  if (lengths.every((n) => n <= maxLength)) return alert;
  const cut = (words: TextMap): TextMap =>
    Object.fromEntries(Object.entries(words).map(([name, value]) => [name, truncate(value, maxLength)]));
  // The fingerprint uses the labels as sent, not as stored.
  return { ...alert, fingerprintLabels: alert.labels, labels: cut(alert.labels), annotations: cut(alert.annotations) };
}
