import { useState } from 'preact/hooks';
import type { Line } from '../../data/as-code.ts';
import { useMembers } from '../../data/members.ts';
import { Button } from '../../ui/button.tsx';
import { Field, SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';

export interface ScheduleInput {
  name: string;
  timezone: string;
  participants: { userId: string; label: string }[];
  handoff: { interval: 'daily' | 'weekly'; dow?: number; time: string };
}

interface ScheduleFormProps {
  start: ScheduleInput;
  action: string;
  why: string | undefined;
  onSubmit(input: ScheduleInput): Promise<unknown>;
  onChange(input: ScheduleInput): void;
}

const days = ['Sunday', 'Monday', 'Tuesday', 'Wednesday', 'Thursday', 'Friday', 'Saturday'];

/** The browser's own list; another name can be typed. */
function zones(): string[] {
  try {
    return Intl.supportedValuesOf('timeZone');
  } catch {
    return [];
  }
}

export function localZone(): string {
  try {
    return Intl.DateTimeFormat().resolvedOptions().timeZone || 'UTC';
  } catch {
    return 'UTC';
  }
}

export const newSchedule = (): ScheduleInput => ({
  name: '',
  timezone: localZone(),
  participants: [],
  handoff: { interval: 'weekly', dow: 1, time: '09:00' },
});

export const scheduleLine = (input: ScheduleInput, id?: string): Line => ({
  operation: id ? 'updateSchedule' : 'createSchedule',
  ...(id ? { params: [id] } : {}),
  input: { ...input },
});

/** People in the order in which they take turns, and when they hand over. */
export function ScheduleForm({ start, action, why, onSubmit, onChange }: ScheduleFormProps) {
  const [input, setInput] = useState(start);
  const members = useMembers();
  const set = (change: Partial<ScheduleInput>) => {
    const next = { ...input, ...change };
    setInput(next);
    onChange(next);
  };
  const { name, timezone, participants, handoff } = input;
  const setHandoff = (change: Partial<ScheduleInput['handoff']>) => set({ handoff: { ...handoff, ...change } });
  const move = (at: number, by: number) => {
    const order = [...participants];
    const [one] = order.splice(at, 1);
    order.splice(at + by, 0, one!);
    set({ participants: order });
  };
  const submit = () => {
    if (!name.trim()) throw new Error('Give it a name first');
    return onSubmit(input);
  };
  const nameOf = (userId: string, label: string) => label || (members.find(({ value }) => value === userId)?.label ?? userId);
  return (
    <Form action={action} why={why} onSubmit={async () => submit()}>
      <TextField label="Name" required value={name} onChange={(value) => set({ name: value })} />
      <TextField
        label="Time zone"
        required
        value={timezone}
        onChange={(value) => set({ timezone: value })}
        list={zones()}
        hint="Handoffs are by its clock"
      />
      <fieldset>
        <legend>People, in the order of their turns</legend>
        {participants.length ? (
          <ol class="order">
            {participants.map(({ userId, label }, at) => (
              <li key={userId}>
                <bdi>{nameOf(userId, label)}</bdi>
                <span class="buttons">
                  <Button
                    small
                    kind="quiet"
                    label={`Move ${nameOf(userId, label)} up`}
                    why={at === 0 ? 'It is the first' : undefined}
                    onPress={() => move(at, -1)}
                  >
                    Up
                  </Button>
                  <Button
                    small
                    kind="quiet"
                    label={`Move ${nameOf(userId, label)} down`}
                    why={at === participants.length - 1 ? 'It is the last' : undefined}
                    onPress={() => move(at, 1)}
                  >
                    Down
                  </Button>
                  <Button
                    small
                    kind="quiet"
                    label={`Remove ${nameOf(userId, label)}`}
                    onPress={() => set({ participants: participants.toSpliced(at, 1) })}
                  >
                    ×
                  </Button>
                </span>
              </li>
            ))}
          </ol>
        ) : (
          <p class="hint">Without people no one is on call.</p>
        )}
        <SelectField
          label="Add a person"
          value=""
          onChange={(userId) => userId && set({ participants: [...participants, { userId, label: '' }] })}
          options={[
            { value: '', label: 'Choose …' },
            ...members.filter(({ value }) => !participants.some(({ userId }) => userId === value)),
          ]}
        />
      </fieldset>
      <SelectField
        label="Handoff"
        value={handoff.interval}
        onChange={(interval) => setHandoff({ interval: interval as 'daily' | 'weekly' })}
        options={[
          { value: 'weekly', label: 'every week' },
          { value: 'daily', label: 'every day' },
        ]}
      />
      {handoff.interval === 'weekly' && (
        <SelectField
          label="On"
          value={String((handoff.dow ?? 1) % 7)}
          onChange={(dow) => setHandoff({ dow: Number(dow) })}
          options={days.map((label, at) => ({ value: String(at), label }))}
        />
      )}
      <Field label="At">
        {({ id }) => (
          <input id={id} type="time" value={handoff.time} onInput={(event) => setHandoff({ time: event.currentTarget.value })} />
        )}
      </Field>
    </Form>
  );
}
