// What is looked at of an alert before anything is done with it. Limits come first, so that whatever is huge costs no more than its look.
import { clip, type Sent } from './alerts.ts';

type Words = Record<string, string>;

/** Labels, and annotations, that one alert may have. */
export const mostWords = 100;
const longestName = 256;
/** A longer value is cut: nobody reads it, and every list would carry it. */
const longestValue = 4_096;
/** All names and values of one alert together; beyond, each value is cut to the shorter length. */
const longestAlert = 32_768;
const shortValue = 128;

const isRecord = (given: unknown): given is Record<string, unknown> => typeof given === 'object' && given !== null && !Array.isArray(given);

/** PostgreSQL's text cannot hold NUL, nor its jsonb half of a surrogate pair. */
const isStorable = (text: string) => !text.includes('\0') && text.isWellFormed();
const storable = (text: string) => text.replaceAll('\0', '\ufffd').toWellFormed();

/** The alert as far as it can be taken in, or why it cannot: `where` names it to its sender. */
export function judgeAlert(given: unknown, where: string): { alert: Sent } | { problem: string } {
  if (!isRecord(given)) return { problem: `${where} must be an object` };
  const { labels, annotations } = given;
  if (!isRecord(labels)) return { problem: `${where}.labels ${labels === undefined ? 'is required' : 'must be an object'}` };
  const problem = judgeLabels(labels, where);
  if (problem) return { problem };
  return {
    alert: shorten({
      labels: labels as Words,
      annotations: isRecord(annotations) ? readableWords(annotations) : {},
      ...textsOf(given),
    }),
  };
}

/** Labels say which alert it is, so none of them is guessed at. */
function judgeLabels(labels: Record<string, unknown>, where: string): string | undefined {
  let n = 0;
  for (const name in labels) {
    if (++n > mostWords) return `${where}.labels must have at most ${mostWords} entries`;
    const value = labels[name];
    const place = `${where}.labels.${clip(storable(name), 64)}`;
    if (name.length > longestName || !isStorable(name)) return `${place} has a name that is too long or not text`;
    if (typeof value !== 'string') return `${place} must be a string`;
    if (!isStorable(value)) return `${place} must not contain the NUL character or half of a surrogate pair`;
  }
  return undefined;
}

/** Annotations only explain: what is not text, or beyond the limit, is left out. */
function readableWords(given: Record<string, unknown>): Words {
  const kept: Words = {};
  let n = 0;
  for (const name in given) {
    if (++n > mostWords) break;
    const value = given[name];
    if (typeof value === 'string' && name.length <= longestName) kept[storable(name)] = storable(value);
  }
  return kept;
}

const textFields = ['status', 'startsAt', 'endsAt', 'generatorURL', 'fingerprint'] as const;

function textsOf(given: Record<string, unknown>): Pick<Sent, (typeof textFields)[number]> {
  const kept: Pick<Sent, (typeof textFields)[number]> = {};
  for (const name of textFields) {
    const value = given[name];
    // A fingerprint is hashed when it is long, so it is not cut here.
    if (typeof value === 'string') kept[name] = storable(name === 'fingerprint' ? value : value.slice(0, longestValue));
  }
  return kept;
}

function shorten(alert: Sent & { annotations: Words }): Sent {
  const lengths = [alert.labels, alert.annotations].flatMap((words) => Object.entries(words)).map(([n, v]) => n.length + v.length);
  const most = lengths.reduce((sum, n) => sum + n, 0) > longestAlert ? shortValue : longestValue;
  if (lengths.every((n) => n <= most)) return alert;
  const cut = (words: Words): Words => Object.fromEntries(Object.entries(words).map(([name, value]) => [name, clip(value, most)]));
  // Which alert it is follows from what was sent, not from what is kept of it.
  return { ...alert, fingerprintLabels: alert.labels, labels: cut(alert.labels), annotations: cut(alert.annotations) };
}
