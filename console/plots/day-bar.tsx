// The last 24 hours of a monitor as cells. An outage stands out without colour too: the worse a cell, the taller.

const looks = {
  u: { class: 'ok', heightPx: 10 },
  p: { class: 'part', heightPx: 15 },
  d: { class: 'down', heightPx: 20 },
  '-': { class: 'none', heightPx: 2 },
} as const;
type Cell = keyof typeof looks;

const cellPx = 4;
const gapPx = 1;
const barPx = 20;

/** `cells`: `u` up, `p` passed in part, `d` down, `-` no check; the oldest first. A path for each look, for a thousand bars must be cheap. */
export function DayBar({ cells, cellSeconds }: { cells: string; cellSeconds: number }) {
  const paths = new Map<Cell, string>();
  for (let at = 0; at < cells.length; at++) {
    const cell = (cells[at]! in looks ? cells[at]! : '-') as Cell;
    const { heightPx } = looks[cell];
    paths.set(cell, `${paths.get(cell) ?? ''}M${at * cellPx} ${barPx}v-${heightPx}h${cellPx - gapPx}v${heightPx}z`);
  }
  return (
    <svg
      class="day-bar"
      viewBox={`0 0 ${cells.length * cellPx} ${barPx}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={wordsOf(cells, cellSeconds)}
    >
      {[...paths].map(([cell, d]) => (
        <path key={cell} class={looks[cell].class} d={d} />
      ))}
    </svg>
  );
}

/** What the bar shows, for screen readers. */
export function wordsOf(cells: string, cellSeconds: number): string {
  const hours = Math.round((cells.length * cellSeconds) / 3600);
  const count = (cell: Cell) => cells.split(cell).length - 1;
  const [down, part, none] = [count('d'), count('p'), count('-')];
  if (none === cells.length) return `Last ${hours} hours: no checks`;
  const found = [down && `down in ${down}`, part && `failing checks in ${part}`, none && `no checks in ${none}`].filter(Boolean);
  return `Last ${hours} hours: ${found.length ? `${found.join(', ')} of ${cells.length} parts` : 'up all the time'}`;
}
