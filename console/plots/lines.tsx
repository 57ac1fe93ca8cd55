import { useState } from 'preact/hooks';
import { Table } from '../ui/table.tsx';
import { written } from '../ui/time.tsx';
import { useCursor } from './cursor.ts';
import { round, roundMax } from './scale.ts';

export interface Series {
  name: string;
  points: readonly {
    /** Unix seconds: the start of its step. */ t: number;
    value: number /** The share of checks that passed. */;
    up: number;
  }[];
}

interface LinesProps {
  label: string;
  series: readonly Series[];
  /** The start of the oldest step, in Unix seconds. */
  from: number;
  stepSeconds: number;
  steps: number;
  format(value: number): string;
  /** The end of the scale, where a round number in tens does not suit. */
  max?: number | undefined;
  /** What is said of a step without a value. */
  none?: string;
}

/** Lines differ in colour and in strokes. */
const strokes = ['', '7 3', '2 3', '9 3 2 3', '4 2'];
const colours = 5;
const heightPx = 100;

/** Values over time, a line a series, and under it a strip a series that shows when checks failed. Read by pointer, by keys, or as a table. */
export function Lines({ label, series, from, stepSeconds, steps, format, max: end, none = 'no check' }: LinesProps) {
  const { at, handlers } = useCursor(steps);
  const byStep = series.map(
    ({ points }) =>
      new Map(
        points.map((point) => [Math.round((point.t - from) / stepSeconds), point] as const).filter(([step]) => step >= 0 && step < steps),
      ),
  );
  const max = end ?? roundMax(Math.max(0, ...byStep.flatMap((known) => Array.from(known.values(), ({ value }) => value))));
  const timeOf = (step: number) => written((from + step * stepSeconds) * 1000, timeFormat(stepSeconds, steps));
  const read = (index: number, step: number) => {
    const point = byStep[index]!.get(step);
    return point ? `${format(point.value)}${point.up < 1 ? `, ${percent(1 - point.up)} failed` : ''}` : none;
  };
  const newest = Math.max(0, ...byStep.flatMap((known) => [...known.keys()]));
  const shown = at ?? newest;
  const isFailing = series.some(({ points }) => points.some(({ up }) => up < 1));
  return (
    <figure class="plot">
      <div class="axis" aria-hidden="true">
        <span>{format(max)}</span>
        <span>{format(max / 2)}</span>
        <span>0</span>
      </div>
      <div
        class="plot-area"
        role="slider"
        tabIndex={0}
        aria-label={`${label}; arrow keys read it step by step`}
        aria-valuemin={0}
        aria-valuemax={steps - 1}
        aria-valuenow={shown}
        aria-valuetext={`${timeOf(shown)}: ${series.map(({ name }, index) => `${name} ${read(index, shown)}`).join('; ')}`}
        {...handlers}
      >
        <svg class="lines" viewBox={`0 0 ${steps} ${heightPx}`} preserveAspectRatio="none" aria-hidden="true">
          <path
            class="grid"
            d={`M0 0.5h${steps}M0 ${heightPx / 2}h${steps}M0 ${heightPx - 0.5}h${steps}`}
            vector-effect="non-scaling-stroke"
          />
          {series.map(({ name }, index) => {
            const look = `line series-${(index % colours) + 1}`;
            const { line, dots } = pathsOf(byStep[index]!, max);
            return (
              <g key={name}>
                <path class={look} d={line} stroke-dasharray={strokes[index % strokes.length]} vector-effect="non-scaling-stroke" />
                {dots && <path class={`${look} dots`} d={dots} vector-effect="non-scaling-stroke" />}
              </g>
            );
          })}
          {at !== undefined && <path class="cursor" d={`M${at + 0.5} 0v${heightPx}`} vector-effect="non-scaling-stroke" />}
        </svg>
        {isFailing &&
          series.map(({ name }, index) => (
            <svg key={name} class="strip" viewBox={`0 0 ${steps} 10`} preserveAspectRatio="none" aria-hidden="true">
              <path class="part" d={stripOf(byStep[index]!, (up) => up < 1 && up > 0, 6)} />
              <path class="down" d={stripOf(byStep[index]!, (up) => up === 0, 10)} />
              <path class="none" d={`M0 10h${steps}v-1h-${steps}z`} />
            </svg>
          ))}
      </div>
      <p class="axis-x" aria-hidden="true">
        <span>{timeOf(0)}</span>
        <span>{timeOf(Math.floor(steps / 2))}</span>
        <span>{timeOf(steps - 1)}</span>
      </p>
      <figcaption>
        <strong class="moment">{timeOf(shown)}</strong>
        <ul class="legend">
          {series.map(({ name }, index) => (
            <li key={name}>
              <svg class="swatch" viewBox="0 0 28 8" aria-hidden="true">
                <path class={`line series-${(index % colours) + 1}`} d="M0 4h28" stroke-dasharray={strokes[index % strokes.length]} />
              </svg>
              <bdi>{name}</bdi> <b>{read(index, shown)}</b>
            </li>
          ))}
        </ul>
        {isFailing && (
          <span class="hint">Marks under the lines: checks that failed, a strip each in the order of this list; the taller, the more.</span>
        )}
      </figcaption>
      <Behind label={label} steps={steps} series={series} timeOf={timeOf} read={read} />
    </figure>
  );
}

interface BehindProps {
  label: string;
  steps: number;
  series: readonly Series[];
  timeOf(step: number): string;
  read(index: number, step: number): string;
}

/** The same as a table, made when it is opened. */
function Behind({ label, steps, series, timeOf, read }: BehindProps) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <Table
          look="plain"
          label={label}
          rows={Array.from({ length: steps }, (_, at) => steps - 1 - at)}
          keyOf={String}
          columns={[
            { head: 'From', cell: timeOf },
            ...series.map(({ name }, index) => ({ head: name, cell: (step: number) => read(index, step) })),
          ]}
        />
      )}
    </details>
  );
}

const percent = (share: number) => `${Math.max(1, Math.round(share * 100))} %`;

/** Days are those of UTC, as the API counts them. */
const timeFormat = (stepSeconds: number, steps: number): Intl.DateTimeFormatOptions =>
  stepSeconds >= 86_400
    ? { day: 'numeric', month: 'short', timeZone: 'UTC' }
    : stepSeconds * steps > 2 * 86_400
      ? { day: 'numeric', month: 'short', hour: '2-digit', minute: '2-digit' }
      : { weekday: 'short', hour: '2-digit', minute: '2-digit' };

/** The line breaks where a step has no value; a value between two gaps is a dot. */
function pathsOf(byStep: ReadonlyMap<number, { value: number }>, max: number): { line: string; dots: string } {
  let line = '';
  let dots = '';
  for (const [step, { value }] of byStep) {
    const at = `${step + 0.5} ${round(heightPx - (value / max) * (heightPx - 2) - 1)}`;
    const isStart = !byStep.has(step - 1);
    if (isStart && !byStep.has(step + 1)) dots += `M${at}h0`;
    else line += `${isStart ? 'M' : 'L'}${at}`;
  }
  return { line, dots };
}

function stripOf(byStep: ReadonlyMap<number, { up: number }>, isMarked: (up: number) => boolean, markPx: number): string {
  let d = '';
  for (const [step, { up }] of byStep) if (isMarked(up)) d += `M${step} 10v-${markPx}h1v${markPx}z`;
  return d;
}
