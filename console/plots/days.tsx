import { useState } from 'preact/hooks';
import { duration } from '../../sdk/browser.ts';
import { Table } from '../ui/table.tsx';
import { written } from '../ui/time.tsx';
import { useCursor } from './cursor.ts';

export interface Day {
  /** YYYY-MM-DD, in UTC. */
  date: string;
  watchedSeconds: number;
  downSeconds: number;
  uptimePct: number;
}

type Look = 'ok' | 'part' | 'down' | 'none';

const heights: Record<Look, number> = { ok: 12, part: 18, down: 24, none: 2 };
const boxPx = 24;
/** As on status pages: from this share of a day it counts as down. */
const badShare = 0.05;
const dayMs = 86_400_000;

/** The last days of a service as bars, the worse the taller. A day on which nothing was watched has only its foot. */
export function Days({ label, days, today, count = 90, isSmall }: DaysProps) {
  const { at, handlers } = useCursor(count);
  const byDate = new Map(days.map((day) => [day.date, day]));
  const dates = Array.from({ length: count }, (_, n) => dayBefore(today, count - 1 - n));
  const paths = new Map<Look, string>();
  for (const [n, date] of dates.entries()) {
    const look = lookOf(byDate.get(date));
    paths.set(look, `${paths.get(look) ?? ''}M${n * 4} ${boxPx}v-${heights[look]}h3v${heights[look]}z`);
  }
  const bars = (
    <svg class="days" viewBox={`0 0 ${count * 4} ${boxPx}`} preserveAspectRatio="none" aria-hidden="true">
      {[...paths].map(([look, d]) => (
        <path key={look} class={look} d={d} />
      ))}
      {at !== undefined && <path class="cursor" d={`M${at * 4 - 0.5} 0h4v${boxPx}h-4z`} vector-effect="non-scaling-stroke" />}
    </svg>
  );
  if (isSmall) return bars;
  const shown = at ?? count - 1;
  return (
    <figure class="plot without-scale">
      <div
        class="plot-area"
        role="slider"
        tabIndex={0}
        aria-label={`${label}; arrow keys read it day by day`}
        aria-valuemin={0}
        aria-valuemax={count - 1}
        aria-valuenow={shown}
        aria-valuetext={wordsOf(dates[shown]!, byDate)}
        {...handlers}
      >
        {bars}
      </div>
      <p class="axis-x" aria-hidden="true">
        <span>{count} days ago</span>
        <span>today</span>
      </p>
      <figcaption>
        <strong class="moment">{wordsOf(dates[shown]!, byDate)}</strong>
      </figcaption>
      <Behind label={label} days={days} />
    </figure>
  );
}

interface DaysProps {
  label: string;
  days: readonly Day[];
  /** YYYY-MM-DD, in UTC. */
  today: string;
  count?: number;
  /** The bars alone, for a preview. */
  isSmall?: boolean;
}

function Behind({ label, days }: { label: string; days: readonly Day[] }) {
  const [isOpen, setOpen] = useState(false);
  return (
    <details onToggle={(event) => setOpen(event.currentTarget.open)}>
      <summary>As a table</summary>
      {isOpen && (
        <Table
          look="plain"
          label={label}
          rows={days.toReversed()}
          keyOf={({ date }) => date}
          columns={[
            { head: 'Day (UTC)', cell: ({ date }) => written(date, { dateStyle: 'medium', timeZone: 'UTC' }) },
            { head: 'Available', kind: 'number', cell: ({ uptimePct }) => `${uptimePct} %` },
            { head: 'Down for', kind: 'number', cell: ({ downSeconds }) => (downSeconds ? duration(downSeconds) : '–') },
          ]}
        />
      )}
    </details>
  );
}

function lookOf(day: Day | undefined): Look {
  if (!day || day.watchedSeconds <= 0) return 'none';
  if (day.downSeconds <= 0) return 'ok';
  return day.downSeconds / day.watchedSeconds < badShare ? 'part' : 'down';
}

function wordsOf(date: string, byDate: ReadonlyMap<string, Day>): string {
  const day = byDate.get(date);
  const when = written(date, { dateStyle: 'medium', timeZone: 'UTC' });
  if (!day) return `${when}: not watched`;
  return `${when}: ${day.uptimePct} %${day.downSeconds ? `, down for ${duration(day.downSeconds)}` : ''}`;
}

const dayBefore = (date: string, days: number): string => new Date(Date.parse(date) - days * dayMs).toISOString().slice(0, 10);
