import { styleText } from 'node:util';
import { printable } from '../printable.ts';

export type Verdict = 'ok' | 'warn' | 'fail' | '?';

/** A line of a report: its verdict as a word, so that it reads the same without colours. */
export interface Line {
  verdict: Verdict;
  subject: string;
  says: string;
}

const colours = { ok: 'green', warn: 'yellow', fail: 'red', '?': 'cyan' } as const;

/** `4m`, `3h`, `12d`: how long from one moment to another. */
export function span(from: number, to: number): string {
  const seconds = Math.max(0, Math.round((to - from) / 1000));
  if (seconds < 60) return `${seconds}s`;
  if (seconds < 3_600) return `${Math.floor(seconds / 60)}m`;
  if (seconds < 48 * 3_600) return `${Math.floor(seconds / 3_600)}h`;
  return `${Math.floor(seconds / 86_400)}d`;
}

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function sizeInWords(bytes: number): string {
  const unit = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, bytes)) / 10));
  return `${Number((bytes / 1024 ** unit).toFixed(1))} ${units[unit]}`;
}

const maxNameLength = 40;

/** The name of a thing inside a sentence: on one line, without control characters, at most 40 characters long. */
export function shortName(name: string): string {
  const characters = [...printable(name).replaceAll(/\s+/g, ' ')];
  return characters.length > maxNameLength ? `${characters.slice(0, maxNameLength - 1).join('')}…` : characters.join('');
}

/** The first three of a list, and how many more there are. */
export const someOf = (all: readonly string[]): string =>
  all.length > 3 ? `${all.slice(0, 3).join(', ')} and ${all.length - 3} more` : all.join(', ');

const verdictWidth = 4;
const subjectWidth = 11;

/** Lines below each other; long ones go on below their own beginning. What a server says stays in its line. */
export function layOut(lines: readonly Line[], width: number): string {
  const indent = verdictWidth + subjectWidth + 2;
  return lines
    .map(({ verdict, subject, says }) => {
      const [first = '', ...rest] = wrapped(printable(says).replaceAll(/\s+/g, ' '), width - indent);
      const head = `${styleText(colours[verdict], verdict.padEnd(verdictWidth), { stream: process.stdout })} ${subject.padEnd(subjectWidth)} `;
      return [head + first, ...rest.map((each) => ' '.repeat(indent) + each)].map((each) => `${each.trimEnd()}\n`).join('');
    })
    .join('');
}

/** Words longer than a line are left whole: a URL is for copying. */
function wrapped(text: string, width: number): string[] {
  const lines: string[] = [];
  for (const word of text.split(' ')) {
    const last = lines.at(-1);
    if (last !== undefined && [...last].length + [...word].length < width) lines[lines.length - 1] = `${last} ${word}`;
    else lines.push(word);
  }
  return lines;
}
