import { round } from './scale.ts';

const stepPx = 4;
const heightPx = 20;

/** A line without axes: how a figure went. One path; where there is no value, it breaks. */
export function SparkLine({ points, label }: { points: readonly (number | null)[]; label: string }) {
  const max = Math.max(1, ...points.map((point) => point ?? 0));
  let d = '';
  for (const [at, point] of points.entries()) {
    if (point === null) continue;
    const y = round(heightPx - 1 - (point / max) * (heightPx - 2));
    const isStart = (points[at - 1] ?? null) === null;
    // A value between two gaps is a short stroke: a line of no length is not drawn.
    d += `${isStart ? 'M' : 'L'}${at * stepPx} ${y}${isStart && (points[at + 1] ?? null) === null ? 'h2' : ''}`;
  }
  return (
    <svg
      class="spark-line"
      viewBox={`0 0 ${(points.length - 1) * stepPx} ${heightPx}`}
      preserveAspectRatio="none"
      role="img"
      aria-label={label}
    >
      <path d={d} vector-effect="non-scaling-stroke" />
    </svg>
  );
}
