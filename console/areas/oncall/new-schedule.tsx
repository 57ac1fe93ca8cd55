import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { draftOf, dropDraft, keepDraft } from '../../data/drafts.ts';
import { open } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { Page } from '../../ui/page.tsx';
import { newSchedule, ScheduleForm, type ScheduleInput, scheduleLine } from './schedule-form.tsx';
import { shiftKinds } from './shifts.ts';

const key = 'new schedule';

export default function NewSchedule() {
  const why = useWhy();
  const [input, setInput] = useState<ScheduleInput>(draftOf<ScheduleInput>(key) ?? newSchedule());
  const create = async (given: ScheduleInput) => {
    const { id } = await attempt({
      what: `create the schedule ${given.name}`,
      done: `Created ${given.name}`,
      kinds: shiftKinds,
      work: () => api().oncall.createSchedule(given),
    });
    dropDraft(key);
    open(`/oncall/schedules/${id}`);
  };
  return (
    <Page title="New schedule" crumbs={[{ to: '/oncall/schedules', label: 'Schedules' }]} code={[scheduleLine(input)]}>
      <ScheduleForm
        start={input}
        action="Create the schedule"
        why={why('createSchedule')}
        onSubmit={create}
        onChange={(next) => {
          setInput(next);
          keepDraft(key, next);
        }}
      />
    </Page>
  );
}
