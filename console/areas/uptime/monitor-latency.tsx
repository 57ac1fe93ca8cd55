import type { UptimeMonitor, UptimeVantage } from '../../../sdk/browser.ts';
import { now } from '../../data/clock.ts';
import { Lines } from '../../plots/lines.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Tabs, tabOf } from '../../ui/tabs.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useMetrics, type Window, windows } from './readings.ts';
import { labelOf, milliseconds } from './words.ts';

interface LatencyProps {
  monitor: UptimeMonitor;
  vantages: readonly UptimeVantage[] | undefined;
}

/** How it stands at each vantage, and how long checks took over a window. */
export function Latency({ monitor, vantages }: LatencyProps) {
  const window = tabOf(windows, 'window') as Window;
  const reading = useMetrics(monitor.id, window);
  const { data } = reading;
  return (
    <>
      <h2>Vantages</h2>
      <Table
        label="Vantages"
        rows={monitor.vantageStates ?? []}
        keyOf={({ vantage }) => vantage}
        columns={[
          { head: 'Vantage', cell: ({ vantage }) => <bdi>{labelOf(vantages, vantage)}</bdi> },
          {
            head: 'Sees it',
            cell: ({ vantage, verdict, failingSince }) => (
              <>
                <State word={verdict} />
                {failingSince && (
                  <>
                    {' '}
                    <Age at={failingSince} />
                  </>
                )}
                {vantages?.some((one) => one.id === vantage && !one.available) && <span class="attention"> · does not report now</span>}
              </>
            ),
          },
          {
            head: 'Checked',
            kind: 'wide',
            cell: ({ checkedAt }) => (checkedAt ? <Age at={checkedAt} long /> : <span class="faint">not yet</span>),
          },
          { head: 'Latency', kind: 'wide', cell: ({ latencyMs }) => (latencyMs === undefined ? '–' : milliseconds(latencyMs)) },
          {
            head: `Passed in ${windows.find(({ value }) => value === window)!.label}`,
            kind: 'number',
            cell: ({ vantage }) => <Share pct={data?.uptimePct[vantage]} missed={data?.missed?.[vantage]} />,
          },
        ]}
      />
      <h2>Latency</h2>
      <Tabs name="window" tabs={windows} />
      {!data ? (
        <Waiting reading={reading} what="monitor" />
      ) : data.series.length === 0 ? (
        <p class="faint">No check in this time.</p>
      ) : (
        <Lines
          key={window}
          label={`Latency of ${monitor.name}`}
          format={milliseconds}
          {...spanOf(window, data.stepSeconds)}
          series={data.series.map(({ vantage, points }) => ({
            name: labelOf(vantages, vantage),
            points: points.map(({ t, latencyMs, up }) => ({ t, value: latencyMs, up })),
          }))}
        />
      )}
    </>
  );
}

const Share = ({ pct, missed }: { pct: number | undefined; missed: number | undefined }) => (
  <>
    {pct === undefined ? '–' : `${pct} %`}
    {missed && <span class="attention"> · {missed} not made</span>}
  </>
);

/** Steps are aligned to 1970; the newest is under way. */
function spanOf(window: Window, stepSeconds: number) {
  const { seconds } = windows.find(({ value }) => value === window)!;
  const steps = Math.ceil(seconds / stepSeconds) + 1;
  const newest = Math.floor(now.value / 1000 / stepSeconds) * stepSeconds;
  return { stepSeconds, steps, from: newest - (steps - 1) * stepSeconds };
}
