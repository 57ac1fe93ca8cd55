import { useState } from 'preact/hooks';
import { say } from '../../data/notices.ts';
import { DayBar } from '../../plots/day-bar.tsx';
import { Days } from '../../plots/days.tsx';
import { Lines } from '../../plots/lines.tsx';
import { SparkLine } from '../../plots/spark-line.tsx';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { Code, Value } from '../../ui/copy.tsx';
import { Empty } from '../../ui/empty.tsx';
import { CheckField, SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Tabs, tabOf } from '../../ui/tabs.tsx';
import { Age, Moment } from '../../ui/time.tsx';
import { Trouble } from '../../ui/trouble.tsx';

const states = ['up', 'pending', 'acknowledged', 'down', 'a word of a later release'];
const tabs = [
  { value: 'first', label: 'First' },
  { value: 'second', label: 'Second' },
];
const at = '2026-01-02T03:04:05.678Z';
const points = Array.from({ length: 24 }, (_, t) => ({ t: t * 60, value: 40 + ((t * 7) % 23), up: t === 9 ? 0 : 1 }));
const days = Array.from({ length: 30 }, (_, n) => ({
  date: `2026-01-${String(n + 1).padStart(2, '0')}`,
  watchedSeconds: 86_400,
  downSeconds: n === 12 ? 600 : n === 20 ? 9_000 : 0,
  uptimePct: n === 12 ? 99.31 : n === 20 ? 89.58 : 100,
}));

/** Every part of the console, once. A screen is made of these. */
export default function Parts() {
  const [text, setText] = useState('');
  const [isOn, setOn] = useState(false);
  const [choice, setChoice] = useState('a');
  const [isAsked, setAsked] = useState(false);
  const [selected, setSelected] = useState<ReadonlySet<string>>(new Set());
  return (
    <Page title="Parts of this console" actions={<Button kind="primary">The main thing to do</Button>} code={[{ operation: 'getMe' }]}>
      <h2>Buttons</h2>
      <p class="buttons">
        <Button kind="primary" onPress={() => say('It is done', 'good')}>
          Primary
        </Button>
        <Button onPress={() => say('Not done: a sentence that says why and what to do', 'bad')}>Plain</Button>
        <Button kind="danger" onPress={() => setAsked(true)}>
          Danger
        </Button>
        <Button why="This needs the permission uptime.monitor.write. An owner or admin grants it.">Not allowed</Button>
        <Button onPress={() => new Promise((resolve) => setTimeout(resolve, 2_000))}>Takes two seconds</Button>
      </p>
      {isAsked && (
        <Confirm title="Delete shop?" name="shop" action="Delete" onConfirm={() => setAsked(false)} onClose={() => setAsked(false)}>
          <p>You lose what it holds.</p>
        </Confirm>
      )}
      <h2>States and times</h2>
      <p class="buttons">
        {states.map((word) => (
          <State key={word} word={word} />
        ))}
      </p>
      <p>
        <Age at={at} long /> · <Moment at={at} />
      </p>
      <h2>Copying</h2>
      <Value text="sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855" />
      <Code text="quarterdeck uptime monitors create --name front --kind http" />
      <h2>Tabs</h2>
      <Tabs tabs={tabs} />
      <p>{tabOf(tabs)}</p>
      <h2>A table</h2>
      <Table
        label="Examples"
        rows={states}
        keyOf={(word) => word}
        columns={[
          { head: 'Name', cell: (word) => word },
          { head: 'State', cell: (word) => <State word={word} /> },
          { head: 'Length', kind: 'number', cell: (word) => word.length },
        ]}
        selection={{ selected, onSelect: setSelected, nameOf: (word) => word }}
      />
      <h2>A sheet</h2>
      <Sheet
        rows={[
          ['Name', 'front'],
          ['Since', <Age key="since" at={at} />],
        ]}
      />
      <h2>Plots</h2>
      <DayBar cells={`${'u'.repeat(20)}p${'u'.repeat(8)}ddd${'u'.repeat(14)}--`} cellSeconds={1_800} />
      <SparkLine points={points.map(({ value }, index) => (index === 5 ? null : value))} label="An example" />
      <Lines
        label="Latency of an example"
        from={0}
        stepSeconds={60}
        steps={24}
        format={(value) => `${Math.round(value)} ms`}
        series={[
          { name: 'tokyo', points },
          { name: 'paris', points: points.map((point) => ({ ...point, value: point.value * 2, up: 1 })) },
        ]}
      />
      <Days label="Availability of an example" days={days} today="2026-01-31" count={30} />
      <h2>A form</h2>
      <Form action="Save" onSubmit={() => Promise.reject(new Error('a refusal stands here, and what was typed stays'))}>
        <TextField label="Name" value={text} onChange={setText} required hint="1 to 100 characters" />
        <SelectField
          label="Kind"
          value={choice}
          onChange={setChoice}
          options={[
            { value: 'a', label: 'One' },
            { value: 'b', label: 'Another' },
          ]}
        />
        <CheckField label="Switched on" value={isOn} onChange={setOn} hint="It checks every 30 s" />
      </Form>
      <h2>Trouble, and nothing</h2>
      <Trouble error="the database is away; try again in a moment" again={() => undefined} />
      <Empty
        title="No monitors yet"
        action={<Button kind="primary">Add a monitor</Button>}
        command="quarterdeck uptime monitors create --name front"
      >
        A monitor asks an address every half minute and pages when it fails.
      </Empty>
    </Page>
  );
}
