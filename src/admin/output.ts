/** `--json` for programs, a table for people. */
export interface OutputOptions {
  json?: boolean;
}

export type Cell = string | number | boolean | null | undefined | readonly string[];

export const printJson = (value: unknown): void => console.log(JSON.stringify(value, null, 2));

/** One line a row; columns as wide as their widest cell, the last one free to run on. */
export function printTable(rows: readonly Record<string, Cell>[], nothing: string): void {
  if (!rows.length) return void console.log(nothing);
  const columns = Object.keys(rows[0]!);
  const lines = [columns.map((c) => c.toUpperCase()), ...rows.map((row) => columns.map((c) => text(row[c])))];
  const widths = columns.map((_, i) => Math.max(...lines.map((line) => line[i]!.length)));
  for (const line of lines)
    console.log(
      line
        .map((cell, i) => cell.padEnd(widths[i]!))
        .join('  ')
        .trimEnd(),
    );
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
