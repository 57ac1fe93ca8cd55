import type { Column } from '../../sdk/commands.ts';
import { fieldAt, type Json } from '../../sdk/values.ts';
import { type Look, styled } from './look.ts';
import { type Cell, cellOf } from './values.ts';
import { displayWidth, pad, wrap } from './width.ts';

// No cell is ever cut, because most are copied from here. What does not fit beside the others stands below its row:
//   wide columns are shown while there is room;
//   a few cells of one column go below their own rows, if the rest fits then;
//   then free text goes below, then the widest column, until the rest fits;
//   a single long cell goes below its own row alone.

const gap = '  ';
const indent = '  ';
/** On a pipe, longer cells do not widen their column. */
const maxPadding = 120;

interface Placed {
  column: Column;
  head: string;
  cells: Cell[];
  widths: number[];
  /** Of the column beside the others. */
  width: number;
  /** Longer cells go below their rows. */
  limit: number;
}

export function table(columns: Column[], rows: Json[], look: Look, showsWide = false): string {
  const all = columns.filter((column) => !column.rest).map((column) => place(column, rows, look));
  const beside = chooseColumns(all, look, showsWide);
  const shown = all.filter((p) => beside.includes(p) || !p.column.wide || showsWide);
  const head = line(beside.map((p) => pad(p.head, p.width)));
  const lines = rows.flatMap((_, n) => rowLines(beside, shown, n, look));
  return [styled('bold', head, look), ...lines, ''].join('\n');
}

function place(column: Column, rows: Json[], look: Look): Placed {
  const cells = rows.map((row) =>
    cellOf(fieldAt(row, column.key) ?? (column.or ? fieldAt(row, column.or) : undefined), column.key, column.as, look),
  );
  const widths = cells.map(({ text }) => displayWidth(text));
  const head = headOf(column);
  const limit = look.width === undefined ? maxPadding : outlierLimit(widths, look.width);
  const least = Math.max(displayWidth(head), widths.some((w) => w > limit) ? 1 : 0);
  // No spread: a list has as many rows as there are, an argument list has not.
  const width = widths.reduce((most, w) => (w <= limit && w > most ? w : most), least);
  return { column, head, cells, widths, limit, width };
}

/** Few long cells do not move a whole column: they go below their own rows. */
function outlierLimit(widths: number[], available: number): number {
  const limit = Math.max(24, Math.floor(available / 2));
  const long = widths.filter((w) => w > limit).length;
  return long * 2 < widths.length ? limit : Number.POSITIVE_INFINITY;
}

const totalWidth = (placed: Placed[]) => placed.reduce((sum, p) => sum + p.width + gap.length, -gap.length);

/** The columns that stand beside each other. */
function chooseColumns(all: Placed[], { width }: Look, showsWide: boolean): Placed[] {
  const needed = all.filter((p) => showsWide || !p.column.wide);
  if (width === undefined) return needed;
  const below = new Set<Placed>();
  const beside = () => needed.filter((p) => !below.has(p));
  while (beside().length > 1 && totalWidth(beside()) > width && !narrowed(beside(), width)) below.add(widest(beside(), width));
  if (below.size) return beside();
  return all.reduce<Placed[]>((chosen, p) => {
    if (needed.includes(p)) return chosen;
    const more = all.filter((other) => other === p || chosen.includes(other));
    return totalWidth(more) <= width ? more : chosen;
  }, needed);
}

/**
 * Whether it fits once the longest fifth of one column stands below its own rows: better than a whole column below every row. The ids of a
 * few custom roles among the short ones of the product are such cells.
 */
function narrowed(placed: Placed[], available: number): boolean {
  const tooMuch = totalWidth(placed) - available;
  for (const p of placed) {
    const sorted = [...p.widths].sort((a, b) => a - b);
    const limit = sorted[Math.ceil(sorted.length * 0.8) - 1] ?? 0;
    const width = Math.max(limit, displayWidth(p.head));
    if (p.width - width < tooMuch) continue;
    [p.limit, p.width] = [limit, width];
    return true;
  }
  return false;
}

/** Free text first. The first column names the row: it goes only if it leaves no room for the others. */
function widest(placed: Placed[], available: number): Placed {
  const movable = placed.filter((p, i) => i > 0 || p.width > available * 0.6);
  const texts = movable.filter((p) => p.column.as === 'text');
  return (texts.length ? texts : movable).reduce((a, b) => (b.width > a.width ? b : a));
}

function rowLines(beside: Placed[], shown: Placed[], n: number, look: Look): string[] {
  const isLong = (p: Placed) => look.width !== undefined && p.widths[n]! > p.limit;
  const row = beside.map((p) => {
    const { text, style } = isLong(p) ? { text: look.unicode ? '↓' : 'v', style: 'dim' as const } : p.cells[n]!;
    return styled(style, text, look) + ' '.repeat(Math.max(0, p.width - displayWidth(text)));
  });
  const below = shown.filter((p) => (!beside.includes(p) || isLong(p)) && !p.cells[n]!.isEmpty);
  const labelWidth = Math.max(0, ...below.map((p) => displayWidth(p.head)));
  return [line(row), ...below.flatMap((p) => belowLines(p, n, labelWidth, look))];
}

/** A value that fits only without its label stands alone. */
function belowLines(p: Placed, n: number, labelWidth: number, look: Look): string[] {
  const { text, style } = p.cells[n]!;
  const begin = indent + styled('dim', pad(p.head.toLowerCase(), labelWidth), look) + gap;
  const room = look.width! - indent.length - labelWidth - gap.length;
  if (p.column.as !== 'text') {
    const fitsAlone = p.widths[n]! > room && p.widths[n]! <= look.width! - indent.length;
    return [(fitsAlone ? indent : begin) + styled(style, text, look)];
  }
  const hanging = ' '.repeat(indent.length + labelWidth + gap.length);
  return wrap(text, Math.max(20, room)).map((part, i) => (i === 0 ? begin : hanging) + part);
}

const line = (cells: string[]) => cells.join(gap).trimEnd();

const titles: Record<string, string> = { createdAt: 'AGE', id: 'ID' };

export function headOf({ key, head }: Pick<Column, 'key' | 'head'>): string {
  const last = key.split('.').at(-1)!;
  return head ?? titles[last] ?? words(last.replace(/(?<=[a-z])(At|Bytes|Seconds|Ms|Days|GiB|Pct|Id|Ids)$/, '')).toUpperCase();
}

/** `expiresAt` is `expires at`; `signingSecret` is `signing secret`. */
export const words = (name: string) => name.replaceAll('_', ' ').replaceAll(/(?<=[a-z])[A-Z]+/g, (c) => ` ${c.toLowerCase()}`);
