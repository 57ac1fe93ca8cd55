import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useMembers } from '../../data/members.ts';
import { localInput, momentOf } from '../../data/moments.ts';
import { useWhy } from '../../data/rights.ts';
import { OneLine } from '../../ui/as-code.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { shiftKinds } from './shifts.ts';

export interface OverrideStart {
  scheduleId: string;
  startsAt: number;
  endsAt: number;
}

interface OverrideDialogProps {
  start: OverrideStart;
  schedules: readonly { id: string; name: string }[];
  onClose(): void;
}

/** Puts somebody on call for a while. */
export function OverrideDialog({ start, schedules, onClose }: OverrideDialogProps) {
  const why = useWhy();
  const members = useMembers();
  const [scheduleId, setSchedule] = useState(start.scheduleId);
  const [userId, setUser] = useState('');
  const [from, setFrom] = useState(localInput(start.startsAt));
  const [until, setUntil] = useState(localInput(start.endsAt));
  const input = { userId, label: '', startsAt: momentOf(from) ?? from, endsAt: momentOf(until) ?? until };
  const submit = async () => {
    if (!userId) throw new Error('Choose who is on call first');
    if (!momentOf(from) || !momentOf(until)) throw new Error('Both times are needed');
    await attempt({
      what: 'add an override',
      done: 'Added',
      kinds: shiftKinds,
      work: () => api().oncall.addScheduleOverride(scheduleId, input),
    });
    onClose();
  };
  return (
    <Dialog title="Put somebody on call for a while" onClose={onClose}>
      <Form action="Put on call" why={why('addScheduleOverride')} onSubmit={submit} onCancel={onClose}>
        <SelectField
          label="Schedule"
          value={scheduleId}
          onChange={setSchedule}
          options={schedules.map(({ id, name }) => ({ value: id, label: name }))}
        />
        <SelectField label="Who" required value={userId} onChange={setUser} options={[{ value: '', label: 'Choose …' }, ...members]} />
        <TextField label="From" type="datetime-local" value={from} onChange={setFrom} hint="In your zone" />
        <TextField label="Until" type="datetime-local" value={until} onChange={setUntil} />
      </Form>
      <details>
        <summary>As code</summary>
        <OneLine line={{ operation: 'addScheduleOverride', params: [scheduleId], input }} />
      </details>
    </Dialog>
  );
}
