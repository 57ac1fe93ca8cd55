import { useState } from 'preact/hooks';
import type { OncallSchedule } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { serverNow } from '../../data/clock.ts';
import { open } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Timeline } from '../../plots/timeline.tsx';
import { OneLine } from '../../ui/as-code.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Tabs, tabOf } from '../../ui/tabs.tsx';
import { Moment, written } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { CalendarLinks } from './calendar-links.tsx';
import { OverrideDialog, type OverrideStart } from './override-dialog.tsx';
import { ScheduleForm, type ScheduleInput, scheduleLine } from './schedule-form.tsx';
import { rowsOf, shiftKinds, startOfDay } from './shifts.ts';

const dayMs = 86_400_000;
const weeks = 4;
const tabs = [
  { value: 'shifts', label: 'Shifts' },
  { value: 'edit', label: 'People and handoff' },
  { value: 'calendars', label: 'Calendars' },
];

/** One schedule: the shifts that it makes, its overrides, who takes part, and calendars that follow it. */
export default function Schedule({ params: { id = '' } }: { params: Record<string, string> }) {
  const why = useWhy();
  const reading = useQuery({ key: ['schedules'], kinds: shiftKinds, ask: (client, signal) => client.oncall.listSchedules({ signal }) });
  const schedule = reading.data?.schedules.find((one) => one.id === id);
  const [override, setOverride] = useState<OverrideStart>();
  const [isAsked, setAsked] = useState(false);
  const crumbs = [{ to: '/oncall/schedules', label: 'Schedules' }];
  if (!schedule)
    return (
      <Page title="Schedule" crumbs={crumbs}>
        {reading.data ? (
          <p class="note">There is no such schedule; it may have been deleted.</p>
        ) : (
          <Waiting reading={reading} what="schedule" />
        )}
      </Page>
    );
  const { name, onCallNow } = schedule;
  const tab = tabOf(tabs);
  return (
    <Page
      title={name}
      crumbs={crumbs}
      aside={
        onCallNow ? (
          <span>
            Now: <bdi>{onCallNow.label}</bdi> until {written(onCallNow.until)}
          </span>
        ) : (
          <span class="bad">No one is on call now</span>
        )
      }
      actions={
        <>
          <Button
            why={why('addScheduleOverride')}
            onPress={() => setOverride({ scheduleId: id, startsAt: serverNow(), endsAt: serverNow() + dayMs })}
          >
            Override
          </Button>
          <Button kind="danger" why={why('deleteSchedule')} onPress={() => setAsked(true)}>
            Delete
          </Button>
        </>
      }
      code={[
        { operation: 'listScheduleShifts', params: [id] },
        { operation: 'updateSchedule', params: [id], input: { ...inputOf(schedule) } },
      ]}
    >
      <Tabs tabs={tabs} />
      {tab === 'shifts' && (
        <ShiftsPart schedule={schedule} onMark={(startsAt, endsAt) => setOverride({ scheduleId: id, startsAt, endsAt })} />
      )}
      {tab === 'edit' && <EditPart key={id} schedule={schedule} />}
      {tab === 'calendars' && <CalendarLinks schedule={schedule} />}
      {override && <OverrideDialog start={override} schedules={[schedule]} onClose={() => setOverride(undefined)} />}
      {isAsked && (
        <Confirm
          title={`Delete ${name}?`}
          action="Delete"
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            const done = await act({
              what: `delete the schedule ${name}`,
              done: `Deleted ${name}`,
              kinds: shiftKinds,
              work: () => api().oncall.deleteSchedule(id),
            });
            if (done) open('/oncall/schedules');
          }}
        >
          <p>Its overrides and calendar links go with it. Policies that page it must be changed first.</p>
        </Confirm>
      )}
    </Page>
  );
}

const inputOf = ({ name, timezone, participants, handoff }: OncallSchedule): ScheduleInput => ({ name, timezone, participants, handoff });

function ShiftsPart({ schedule, onMark }: { schedule: OncallSchedule; onMark(startsAt: number, endsAt: number): void }) {
  const why = useWhy();
  const [from] = useState(() => startOfDay(serverNow()));
  const to = from + weeks * 7 * dayMs;
  const window = { from: new Date(from).toISOString(), to: new Date(to).toISOString() };
  const reading = useQuery({
    key: ['shifts', window],
    kinds: shiftKinds,
    ask: (client, signal) => client.oncall.listShifts(window, { signal }),
  });
  const rows = reading.data ? rowsOf(reading.data, false).filter(({ id }) => id === schedule.id) : [];
  const { overrides } = schedule;
  return (
    <>
      {reading.data ? (
        <Timeline
          from={from}
          to={to}
          rows={rows}
          onMark={why('addScheduleOverride') ? undefined : (_row, startsAt, endsAt) => onMark(startsAt, endsAt)}
        />
      ) : (
        <Waiting reading={reading} what="shifts" />
      )}
      <h2>Overrides</h2>
      {overrides.length ? (
        <Table
          label="Overrides"
          rows={overrides}
          keyOf={(one) => one.id}
          columns={[
            { head: 'Who', cell: ({ label }) => label },
            { head: 'From', cell: ({ startsAt }) => <Moment at={startsAt} /> },
            { head: 'Until', cell: ({ endsAt }) => <Moment at={endsAt} /> },
            {
              head: 'Act',
              cell: (one) => (
                <Button
                  small
                  why={why('removeScheduleOverride')}
                  onPress={() =>
                    act({
                      what: 'remove an override',
                      done: 'Removed',
                      kinds: shiftKinds,
                      work: () => api().oncall.removeScheduleOverride(schedule.id, one.id),
                    })
                  }
                >
                  Remove
                </Button>
              ),
            },
          ]}
        />
      ) : (
        <p class="faint">None: the rotation decides.</p>
      )}
    </>
  );
}

function EditPart({ schedule }: { schedule: OncallSchedule }) {
  const why = useWhy();
  const [input, setInput] = useState(inputOf(schedule));
  return (
    <>
      <ScheduleForm
        start={input}
        action="Save"
        why={why('updateSchedule')}
        onChange={setInput}
        onSubmit={(given) =>
          attempt({
            what: `change the schedule ${schedule.name}`,
            done: 'Saved',
            kinds: shiftKinds,
            work: () => api().oncall.updateSchedule(schedule.id, given),
          })
        }
      />
      <p class="hint">Who is on call now stays until the next handoff, unless only the order changes.</p>
      <details class="below">
        <summary>As code</summary>
        <OneLine line={scheduleLine(input, schedule.id)} />
      </details>
    </>
  );
}
