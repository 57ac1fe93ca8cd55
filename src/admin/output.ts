import { lookOf } from '../../cli/output/look.ts';
import { table } from '../../cli/output/table.ts';
import { displayWidth, pad, wrap } from '../../cli/output/width.ts';
import { forTerminal } from '../../cli/tell.ts';

/** `--json` for programs, a table for people. */
export interface OutputOptions {
  json?: boolean;
}

export type Cell = string | number | boolean | null | undefined | readonly string[];

export const printJson = (value: unknown): void => console.log(JSON.stringify(value, null, 2));

/** One line a row; columns as wide as their widest cell, the last one free to run on. A terminal gets lines that fit. */
export function printTable(
  rows: readonly Record<string, Cell>[],
  nothing: string,
  { columns: width }: { columns?: number | undefined } = process.stdout.isTTY ? process.stdout : {},
): void {
  if (!rows.length) return void console.log(forTerminal(nothing, process.stdout));
  const columns = Object.keys(rows[0]!);
  const lines = [columns.map((c) => c.toUpperCase()), ...rows.map((row) => columns.map((c) => text(row[c])))];
  const widths = columns.map((_, i) => lines.reduce((most, line) => Math.max(most, displayWidth(line[i]!)), 0));
  const before = widths.slice(0, -1).reduce((sum, w) => sum + w + 2, 0);
  // Sentences at the end of a row go on below their beginning; other rows that are too long are laid out as the lists of users are.
  const room = width === undefined ? Number.POSITIVE_INFINITY : width - before;
  const isWide = widths.at(-1)! > room;
  const isSentence = lines.slice(1).some((line) => line.at(-1)!.includes(' '));
  if (isWide && (room < minSentence || !isSentence)) {
    printWide(columns, lines.slice(1), width!);
    return;
  }
  for (const line of lines) {
    const [first, ...more] = wrap(line.at(-1)!, room);
    const begin = line.slice(0, -1).map((cell, i) => `${pad(cell, widths[i]!)}  `);
    console.log(`${begin.join('')}${first}`.trimEnd());
    for (const rest of more) console.log(' '.repeat(before) + rest);
  }
}

const minSentence = 30;

function printWide(columns: string[], lines: string[][], width: number): void {
  const shown = columns.map((head, i) => ({ key: String(i), head: head.toUpperCase(), as: 'text' as const }));
  const rows = lines.map((line) => Object.fromEntries(line.map((cell, i) => [String(i), cell === '-' ? null : cell])));
  console.log(table(shown, rows, { ...lookOf(process.stdout, process.env), width }).trimEnd());
}

export const printRows = (options: OutputOptions, rows: readonly Record<string, Cell>[], nothing: string): void =>
  options.json ? printJson(rows) : printTable(rows, nothing);

const text = (cell: Cell): string => {
  if (cell === null || cell === undefined || cell === '') return '-';
  if (typeof cell === 'boolean') return cell ? 'yes' : 'no';
  if (Array.isArray(cell)) return cell.length ? cell.join(',') : '-';
  // Text of other people (names, error sentences) must not move the reader's cursor.
  return String(cell).replace(/[\p{Cc}\p{Cf}]+/gu, ' ');
};

const units = ['B', 'KiB', 'MiB', 'GiB', 'TiB'];

export function bytes(count: number): string {
  const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(1, count)) / 10));
  return `${(count / 1024 ** power).toFixed(power === 0 ? 0 : 1)} ${units[power]}`;
}
