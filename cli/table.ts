export interface TableOptions {
  /** Columns are narrowed, then left out from the right, until they fit; undefined: as wide as it gets. */
  width: number | undefined;
  header(text: string): string;
}

const gap = '  ';
const minColumnWidth = 10;
const lengthOf = (text: string) => [...text].length;

export function table(head: string[], rows: string[][], { width = Number.POSITIVE_INFINITY, header }: TableOptions): string {
  const widths = fit(
    head.map((h, i) => Math.max(lengthOf(h), ...rows.map((row) => lengthOf(row[i]!)))),
    width,
  );
  const line = (cells: string[]) =>
    widths
      .map((w, i) => clip(cells[i]!, w))
      .join(gap)
      .trimEnd();
  return [header(line(head)), ...rows.map(line), ''].join('\n');
}

const clip = (text: string, width: number) =>
  lengthOf(text) > width ? `${[...text].slice(0, width - 1).join('')}…` : text + ' '.repeat(width - lengthOf(text));

/** The first column names the row, and is copied from here: it stays whole. */
export function fit(natural: number[], available: number): number[] {
  const widths = [...natural];
  const total = () => widths.reduce((sum, w) => sum + w + gap.length, -gap.length);
  while (widths.length > 1 && total() > available) {
    const widest = widths.indexOf(Math.max(...widths.slice(1)), 1);
    if (widths[widest]! > minColumnWidth) widths[widest]!--;
    else widths.pop();
  }
  return widths;
}
