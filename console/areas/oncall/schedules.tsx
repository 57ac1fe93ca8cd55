import { useState } from 'preact/hooks';
import { serverNow } from '../../data/clock.ts';
import { open, query, setQuery } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Timeline } from '../../plots/timeline.tsx';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { OverrideDialog, type OverrideStart } from './override-dialog.tsx';
import { rowsOf, shiftKinds, startOfDay } from './shifts.ts';

const dayMs = 86_400_000;

/** All schedules side by side for two or four weeks; gaps are red, and a stretch that is marked becomes an override. */
export default function Schedules() {
  const why = useWhy();
  const weeks = query.value.get('weeks') === '4' ? 4 : 2;
  const onlyMine = query.value.get('mine') === 'yes';
  const later = laterOf(query.value.get('later'));
  const [today] = useState(() => startOfDay(serverNow()));
  const from = today + later * weeks * 7 * dayMs;
  const to = from + weeks * 7 * dayMs;
  const window = { from: new Date(from).toISOString(), to: new Date(to).toISOString(), ...(onlyMine ? { mine: true } : {}) };
  const reading = useQuery({ key: ['shifts', window], kinds: shiftKinds, ask: (api, signal) => api.oncall.listShifts(window, { signal }) });
  const [override, setOverride] = useState<OverrideStart>();
  const { data } = reading;
  const rows = data ? rowsOf(data, onlyMine) : [];
  const refusal = why('addScheduleOverride');
  return (
    <Page
      title="Schedules"
      actions={
        <>
          <Button kind="primary" why={why('createSchedule')} onPress={() => open('/oncall/schedules/new')}>
            New schedule
          </Button>
          <Button
            why={refusal ?? (data && !data.schedules.length ? 'There is no schedule yet' : undefined)}
            onPress={() => data && setOverride({ scheduleId: data.schedules[0]!.id, startsAt: serverNow(), endsAt: serverNow() + dayMs })}
          >
            Override
          </Button>
        </>
      }
      code={[{ operation: 'listShifts', input: window }, { operation: 'listSchedules' }]}
    >
      <div class="toolbar">
        {[2, 4].map((count) => (
          <Button key={count} small pressed={weeks === count} onPress={() => setQuery('weeks', count === 4 ? '4' : undefined)}>
            {count} weeks
          </Button>
        ))}
        <Button small pressed={onlyMine} onPress={() => setQuery('mine', onlyMine ? undefined : 'yes')}>
          Only mine
        </Button>
        <Button small onPress={() => setQuery('later', later === 1 ? undefined : String(later - 1))}>
          Earlier
        </Button>
        <Button small why={later === 0 ? 'This is now' : undefined} onPress={() => setQuery('later', undefined)}>
          Now
        </Button>
        <Button small onPress={() => setQuery('later', later === -1 ? undefined : String(later + 1))}>
          Later
        </Button>
        <span class="faint">
          <Moment at={window.from} options={{ dateStyle: 'medium' }} /> to <Moment at={window.to} options={{ dateStyle: 'medium' }} />
        </span>
      </div>
      {!data ? (
        <Waiting reading={reading} what="list" />
      ) : !data.schedules.length ? (
        <Empty
          title="No schedule yet"
          command="quarterdeck oncall schedules create --name primary --timezone Europe/Paris --handoff weekly,mon,09:00 --participant you@example.com"
        >
          A schedule is people who take turns. A policy pages the one whose turn it is.
        </Empty>
      ) : rows.length ? (
        <>
          <Timeline
            from={from}
            to={to}
            rows={rows}
            onMark={refusal ? undefined : (row, startsAt, endsAt) => setOverride({ scheduleId: row.id, startsAt, endsAt })}
          />
          <p class="hint">
            Times are in your zone. “Override” puts somebody else on call for a while; so does dragging along a row with the mouse.
          </p>
        </>
      ) : (
        <p class="faint">You are on call in none of them in these weeks.</p>
      )}
      {override && data && <OverrideDialog start={override} schedules={data.schedules} onClose={() => setOverride(undefined)} />}
    </Page>
  );
}

/** The address may be anybody's: no date is ten thousand years away. */
function laterOf(text: string | null): number {
  const later = Number(text ?? 0);
  return Number.isInteger(later) && Math.abs(later) <= maxLater ? later : 0;
}

const maxLater = 500;
