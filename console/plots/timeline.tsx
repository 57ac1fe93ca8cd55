import { useRef, useState } from 'preact/hooks';
import { now } from '../data/clock.ts';
import { Link } from '../ui/link.tsx';
import { written } from '../ui/time.tsx';

export interface TimelineBar {
  key: string;
  startsAt: number;
  endsAt: number;
  label: string;
  kind: 'shift' | 'mine' | 'override' | 'gap';
}

export interface TimelineRow {
  id: string;
  name: string;
  to: string;
  bars: readonly TimelineBar[];
}

interface TimelineProps {
  from: number;
  to: number;
  rows: readonly TimelineRow[];
  /** A stretch was marked by the pointer. */
  onMark?: ((row: TimelineRow, startsAt: number, endsAt: number) => void) | undefined;
}

const dayMs = 86_400_000;
/** Room for a letter and a number a day, and for the names beside. */
const dayRem = 1.75;
const nameRem = 10;
/** A mark begins and ends on the half hour. */
const stepMs = 1_800_000;

/** Who has what when, a row each. Everything in it is in the table behind it too. */
export function Timeline({ from, to, rows, onMark }: TimelineProps) {
  const days = daysBetween(from, to);
  return (
    <>
      <section class="timeline scroll" tabIndex={0} aria-label="Shifts by day">
        <div class="lanes" style={{ minWidth: `${days.length * dayRem + nameRem}rem` }}>
          <div class="lane days" aria-hidden="true">
            <span />
            <div class="track">
              {days.map((at) => (
                <span key={at} class="day" style={placed(at, Math.min(at + dayMs, to), from, to)}>
                  {written(at, { weekday: 'narrow', day: 'numeric' })}
                </span>
              ))}
            </div>
          </div>
          {rows.map((row) => (
            <Lane key={row.id} row={row} from={from} to={to} days={days} onMark={onMark} />
          ))}
        </div>
      </section>
      <details class="below">
        <summary>As a table</summary>
        <TimelineTable rows={rows} />
      </details>
    </>
  );
}

interface LaneProps extends Omit<TimelineProps, 'rows'> {
  row: TimelineRow;
  days: readonly number[];
}

function Lane({ row, from, to, days, onMark }: LaneProps) {
  const track = useRef<HTMLDivElement>(null);
  const [mark, setMark] = useState<{ at: number; until: number }>();
  const momentAt = (event: PointerEvent): number => {
    const { left, width } = track.current!.getBoundingClientRect();
    const share = Math.max(0, Math.min(1, (event.clientX - left) / width));
    return Math.round((from + share * (to - from)) / stepMs) * stepMs;
  };
  const begin = (event: PointerEvent) => {
    // A finger scrolls; the button beside the timeline does the same.
    if (!onMark || event.button !== 0 || event.pointerType === 'touch') return;
    track.current!.setPointerCapture(event.pointerId);
    const at = momentAt(event);
    setMark({ at, until: at });
  };
  const end = () => {
    if (mark && Math.abs(mark.until - mark.at) >= stepMs) onMark?.(row, Math.min(mark.at, mark.until), Math.max(mark.at, mark.until));
    setMark(undefined);
  };
  const isNowSeen = now.value >= from && now.value <= to;
  return (
    <div class="lane">
      <Link to={row.to}>{row.name}</Link>
      <div
        ref={track}
        class={`track${onMark ? ' marks' : ''}`}
        onPointerDown={begin}
        onPointerMove={(event) => mark && setMark({ at: mark.at, until: momentAt(event) })}
        onPointerUp={end}
        onPointerCancel={() => setMark(undefined)}
      >
        {days.map((at) => (
          <span key={at} class="line" style={{ left: `${percent(at, from, to)}%` }} />
        ))}
        {row.bars.map((bar) => (
          <span
            key={bar.key}
            class={`bar ${bar.kind}`}
            style={placed(bar.startsAt, bar.endsAt, from, to)}
            title={`${bar.label}: ${written(bar.startsAt)} to ${written(bar.endsAt)}`}
          >
            {bar.label}
          </span>
        ))}
        {mark && <span class="mark" style={placed(Math.min(mark.at, mark.until), Math.max(mark.at, mark.until), from, to)} />}
        {isNowSeen && <span class="now" style={{ left: `${percent(now.value, from, to)}%` }} />}
      </div>
    </div>
  );
}

const percent = (at: number, from: number, to: number): number => ((Math.max(from, Math.min(to, at)) - from) / (to - from)) * 100;

const placed = (startsAt: number, endsAt: number, from: number, to: number) => ({
  left: `${percent(startsAt, from, to)}%`,
  width: `${percent(endsAt, from, to) - percent(startsAt, from, to)}%`,
});

/** Midnights of the viewer's zone. A day of 23 or 25 hours is met by looking at the calendar. */
function daysBetween(from: number, to: number): number[] {
  const days: number[] = [];
  for (const day = new Date(from); day.getTime() < to; day.setDate(day.getDate() + 1)) days.push(day.getTime());
  return days;
}

const TimelineTable = ({ rows }: { rows: readonly TimelineRow[] }) => (
  <div class="scroll">
    <table>
      <thead>
        <tr>
          <th scope="col">Schedule</th>
          <th scope="col">Who</th>
          <th scope="col">From</th>
          <th scope="col">Until</th>
        </tr>
      </thead>
      <tbody>
        {rows.flatMap(({ id, name, bars }) =>
          bars.map((bar) => (
            <tr key={`${id} ${bar.key}`}>
              <th scope="row">{name}</th>
              <td class={bar.kind === 'gap' ? 'bad' : undefined}>{bar.label}</td>
              <td>{written(bar.startsAt)}</td>
              <td>{written(bar.endsAt)}</td>
            </tr>
          )),
        )}
      </tbody>
    </table>
  </div>
);
