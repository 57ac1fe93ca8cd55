import { useState } from 'preact/hooks';
import type { OncallEscalationStepInput } from '../../../sdk/browser.ts';
import { useMembers } from '../../data/members.ts';
import { useQuery } from '../../data/query.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { shiftKinds } from './shifts.ts';

export const policyKinds = ['oncall.policy', 'oncall.schedule', 'oncall.service', 'uptime.service'];

export interface PolicyInput {
  name: string;
  repeat: number;
  steps: OncallEscalationStepInput[];
  remindAfterSeconds: number;
}

export const newPolicy = (): PolicyInput => ({ name: '', repeat: 1, steps: [], remindAfterSeconds: 0 });

interface PolicyFormProps {
  start: PolicyInput;
  action: string;
  why: string | undefined;
  onChange(input: PolicyInput): void;
  onSubmit(input: PolicyInput): Promise<unknown>;
}

const waits = [1, 2, 3, 5, 10, 15, 20, 30, 45, 60];
const asOption = (minutes: number) => ({ value: String(minutes * 60), label: `${minutes} min` });

/** Steps in order: whom to page, and how long to wait for an answer before the next one. */
export function PolicyForm({ start, action, why, onChange, onSubmit }: PolicyFormProps) {
  const [input, setInput] = useState(start);
  const members = useMembers();
  const schedules = useQuery({ key: ['schedules'], kinds: shiftKinds, ask: (api, signal) => api.oncall.listSchedules({ signal }) });
  const set = (change: Partial<PolicyInput>) => {
    const next = { ...input, ...change };
    setInput(next);
    onChange(next);
  };
  const { name, repeat, steps, remindAfterSeconds } = input;
  const targets = [
    ...(schedules.data?.schedules ?? []).map((one) => ({ value: `schedule ${one.id}`, label: `Schedule ${one.name}` })),
    ...members.map(({ value, label }) => ({ value: `user ${value}`, label })),
  ];
  const change = (at: number, step: Partial<OncallEscalationStepInput>) => set({ steps: steps.with(at, { ...steps[at]!, ...step }) });
  const submit = async () => {
    if (!name.trim()) throw new Error('Give it a name first');
    if (!steps.length) throw new Error('Add a step first: without one no one is paged');
    return onSubmit(input);
  };
  return (
    <Form action={action} why={why} onSubmit={submit}>
      <TextField label="Name" required value={name} onChange={(value) => set({ name: value })} />
      <fieldset>
        <legend>Steps</legend>
        {!steps.length && <p class="hint">A policy begins with whom to page first.</p>}
        <ol class="order">
          {steps.map(({ target, waitSeconds }, at) => (
            <li key={`${at} ${target.id}`}>
              <SelectField
                label={`Step ${at + 1} pages`}
                value={`${target.kind} ${target.id}`}
                onChange={(value) => change(at, { target: targetOf(value) })}
                options={withUnknown(targets, `${target.kind} ${target.id}`, target.label)}
              />
              <SelectField
                label="and waits"
                value={String(waitSeconds)}
                onChange={(value) => change(at, { waitSeconds: Number(value) })}
                options={withUnknown(waits.map(asOption), String(waitSeconds), `${waitSeconds} s`)}
              />
              <span class="buttons">
                <Button
                  small
                  kind="quiet"
                  why={at === 0 ? 'It is the first' : undefined}
                  onPress={() => set({ steps: swapped(steps, at, at - 1) })}
                >
                  Up
                </Button>
                <Button
                  small
                  kind="quiet"
                  why={at === steps.length - 1 ? 'It is the last' : undefined}
                  onPress={() => set({ steps: swapped(steps, at, at + 1) })}
                >
                  Down
                </Button>
                <Button small kind="quiet" onPress={() => set({ steps: steps.toSpliced(at, 1) })}>
                  Remove
                </Button>
              </span>
            </li>
          ))}
        </ol>
        <SelectField
          label="Add a step"
          value=""
          onChange={(value) => value && set({ steps: [...steps, { target: targetOf(value), waitSeconds: 300 }] })}
          options={[{ value: '', label: 'Choose whom to page …' }, ...targets]}
        />
      </fieldset>
      <SelectField
        label="If no one answers"
        value={String(repeat)}
        onChange={(value) => set({ repeat: Number(value) })}
        options={Array.from({ length: 10 }, (_, more) => ({
          value: String(more),
          label: more ? `begin again, ${more} ${more === 1 ? 'time' : 'times'}` : 'stop after the last step',
        }))}
      />
      <SelectField
        label="Remind the person who acknowledged"
        value={String(remindAfterSeconds)}
        onChange={(value) => set({ remindAfterSeconds: Number(value) })}
        options={withUnknown(
          [
            { value: '0', label: 'never' },
            ...[15, 30, 60, 120].map((minutes) => ({ value: String(minutes * 60), label: `every ${minutes} min` })),
          ],
          String(remindAfterSeconds),
          `every ${remindAfterSeconds} s`,
        )}
      />
    </Form>
  );
}

const targetOf = (value: string) => {
  const at = value.indexOf(' ');
  return { kind: value.slice(0, at), id: value.slice(at + 1), label: '' };
};

/** What was set elsewhere stays selectable. */
const withUnknown = (options: { value: string; label: string }[], value: string, label: string) =>
  options.some((option) => option.value === value) ? options : [...options, { value, label }];

function swapped<T>(list: readonly T[], a: number, b: number): T[] {
  const next = [...list];
  [next[a], next[b]] = [next[b]!, next[a]!];
  return next;
}
