import type { ComponentChildren } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Link } from './link.tsx';

export interface TableColumn<Row> {
  head: string;
  cell(row: Row): ComponentChildren;
  /** The first column names the row; `number` stands right; `wide` is left out on a phone. */
  kind?: 'number' | 'wide';
}

interface TableProps<Row> {
  /** Read aloud before the rows. */
  label: string;
  rows: readonly Row[];
  keyOf(row: Row): string;
  columns: readonly TableColumn<Row>[];
  /** Where the row's name leads. */
  to?: ((row: Row) => string | undefined) | undefined;
  selection?: { selected: ReadonlySet<string>; onSelect(selected: ReadonlySet<string>): void; nameOf(row: Row): string };
  /** The row that keys act on. */
  current?: string | undefined;
  /** Its link takes the focus when another row becomes current: for rows that keys alone choose, see row-keys.ts. */
  isCurrentFocused?: boolean;
  /**
   * On a phone each row is a card whose cells say what they are. A table of few short columns stays one (`plain`); one whose columns have fixed
   * widths has a class of its own.
   */
  look?: string;
  /** The last row is near: a list that comes in portions asks for the next one. */
  onEnd?: (() => void) | undefined;
}

/** Longer lists are windowed: a thousand rows in the document cost half a second, fifty cost a twentieth of it. */
const windowedFrom = 80;
const overscan = 12;

export function Table<Row>({
  label,
  rows,
  keyOf,
  columns,
  to,
  selection,
  current,
  isCurrentFocused = false,
  look = 'stacked',
  onEnd,
}: TableProps<Row>) {
  const body = useRef<HTMLTableSectionElement>(null);
  const section = useRef<HTMLElement>(null);
  const isWide = useIsWide(section);
  const { first, count, rowPx } = useWindow(body, rows.length);
  const shown = rows.slice(first, first + count);
  const isAtEnd = first + count >= rows.length;
  useEffect(() => {
    if (isAtEnd) onEnd?.();
  }, [isAtEnd, rows]);
  const width = columns.length + (selection ? 1 : 0);
  const chosen = isCurrentFocused ? current : undefined;
  useFocusOn(chosen, body, {
    at: chosen === undefined ? -1 : rows.findIndex((row) => keyOf(row) === chosen),
    rowPx,
    seen: first,
  });
  const all = selection && rows.length > 0 && rows.every((row) => selection.selected.has(keyOf(row)));
  return (
    <section ref={section} class={`scroll ${look}`} aria-label={label} tabIndex={isWide ? 0 : undefined}>
      <table aria-rowcount={rows.length + 1} aria-label={label}>
        <thead>
          <tr>
            {selection && (
              <th class="pick">
                <input
                  type="checkbox"
                  aria-label="Select all"
                  checked={all}
                  onChange={() => selection.onSelect(all ? new Set() : new Set(rows.map(keyOf)))}
                />
              </th>
            )}
            {columns.map((column) => (
              <th key={column.head} scope="col" class={column.kind}>
                {column.head}
              </th>
            ))}
          </tr>
        </thead>
        <tbody ref={body}>
          {first > 0 && <Spacer px={first * rowPx} width={width} />}
          {shown.map((row, at) => {
            const key = keyOf(row);
            const target = to?.(row);
            return (
              <tr key={key} aria-rowindex={first + at + 2} class={key === current ? 'current' : undefined} data-key={key}>
                {selection && (
                  <td class="pick">
                    <input
                      type="checkbox"
                      aria-label={`Select ${selection.nameOf(row)}`}
                      checked={selection.selected.has(key)}
                      onChange={() => selection.onSelect(toggled(selection.selected, key))}
                    />
                  </td>
                )}
                {columns.map((column, index) => {
                  const content = column.cell(row);
                  if (index > 0)
                    return (
                      <td key={column.head} class={column.kind} data-head={column.head}>
                        {content}
                      </td>
                    );
                  return (
                    <th key={column.head} scope="row" class={column.kind}>
                      {target ? <Link to={target}>{content}</Link> : content}
                    </th>
                  );
                })}
              </tr>
            );
          })}
          {first + count < rows.length && <Spacer px={(rows.length - first - count) * rowPx} width={width} />}
        </tbody>
      </table>
    </section>
  );
}

/** Wider than the screen: then it scrolls, and the keyboard must reach it to scroll it. */
function useIsWide(section: { current: HTMLElement | null }): boolean {
  const [isWide, setWide] = useState(false);
  useEffect(() => {
    const element = section.current!;
    const observer = new ResizeObserver(() => setWide(element.scrollWidth > element.clientWidth));
    observer.observe(element);
    observer.observe(element.firstElementChild!);
    return () => observer.disconnect();
  }, []);
  return isWide;
}

const Spacer = ({ px, width }: { px: number; width: number }) => (
  <tr aria-hidden="true">
    <td colSpan={width} class="spacer" style={{ height: `${px}px` }} />
  </tr>
);

function toggled(selected: ReadonlySet<string>, key: string): ReadonlySet<string> {
  const next = new Set(selected);
  if (!next.delete(key)) next.add(key);
  return next;
}

/** A row far away is not in the document: the page is scrolled there first, and the row takes the focus once it is drawn. */
function useFocusOn(
  current: string | undefined,
  body: { current: HTMLTableSectionElement | null },
  { at, rowPx, seen }: { at: number; rowPx: number; seen: number },
) {
  const awaited = useRef<string | undefined>(undefined);
  const last = useRef(current);
  useLayoutEffect(() => {
    if (current !== last.current) awaited.current = current;
    last.current = current;
    if (awaited.current === undefined || at < 0) return;
    const row = body.current?.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(awaited.current)}"]`);
    if (!row) return scrollTo(0, scrollY + body.current!.getBoundingClientRect().top + at * rowPx - innerHeight / 2);
    awaited.current = undefined;
    if (!row.contains(document.activeElement)) (row.querySelector('a') ?? row.querySelector('input'))?.focus({ preventScroll: true });
    row.scrollIntoView({ block: 'nearest' });
  }, [current, seen]);
}

/** Which rows are seen. Rows of a long list are of one height, taken from the first that is drawn. */
function useWindow(body: { current: HTMLTableSectionElement | null }, total: number) {
  const isWindowed = total > windowedFrom;
  const [seen, setSeen] = useState({ first: 0, count: windowedFrom, rowPx: 45 });
  useLayoutEffect(() => {
    if (!isWindowed) return;
    let frame = 0;
    const measure = () => {
      frame = 0;
      const element = body.current;
      if (!element) return;
      const row = element.querySelector<HTMLElement>('tr[data-key]');
      const rowPx = row?.offsetHeight || 45;
      const top = -element.getBoundingClientRect().top;
      const first = Math.max(0, Math.min(total - 1, Math.floor(top / rowPx)) - overscan);
      const count = Math.ceil(innerHeight / rowPx) + overscan * 2;
      setSeen((was) => (was.first === first && was.count === count && was.rowPx === rowPx ? was : { first, count, rowPx }));
    };
    const later = () => {
      frame ||= requestAnimationFrame(measure);
    };
    measure();
    // Captured: a table may stand in a box that scrolls by itself.
    addEventListener('scroll', later, { passive: true, capture: true });
    addEventListener('resize', later);
    return () => {
      cancelAnimationFrame(frame);
      removeEventListener('scroll', later, { capture: true });
      removeEventListener('resize', later);
    };
  }, [isWindowed, total]);
  return isWindowed ? seen : { first: 0, count: total, rowPx: 0 };
}
