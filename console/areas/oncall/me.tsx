import { useState } from 'preact/hooks';
import type { OncallPaging } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';

const kinds = ['oncall.paging', 'oncall.provider'];

/** How a page reaches the person, and a test that it does. */
export default function Me() {
  const why = useWhy();
  const reading = useQuery({ key: ['paging'], kinds, ask: (client, signal) => client.oncall.getPagingSettings({ signal }) });
  const test = useQuery({ key: ['paging test'], kinds, ask: (client, signal) => client.oncall.getPagingTest({ signal }) });
  const pageMe = () =>
    act({ what: 'page you', done: 'A test page is on its way', kinds, work: () => api().oncall.testPaging() }).then((done) => {
      if (done) test.again();
    });
  return (
    <Page
      title="How I am paged"
      actions={
        <Button kind="primary" why={why('testPaging')} onPress={pageMe}>
          Page me now
        </Button>
      }
      code={[{ operation: 'getPagingSettings' }, { operation: 'testPaging' }, { operation: 'getPagingTest' }]}
    >
      {test.data && test.data.pages.length > 0 && (
        <section aria-live="polite">
          <h2>
            The last test {test.data.startedAt && <Age at={test.data.startedAt} long />}{' '}
            <Button small onPress={test.again}>
              Look again
            </Button>
          </h2>
          <Table
            label="Pages of the last test"
            rows={test.data.pages}
            keyOf={({ id }) => id}
            columns={[
              { head: 'Channel', cell: ({ channel, address }) => `${channel}${address ? ` to ${address}` : ''}` },
              {
                head: 'Fate',
                cell: ({ state, error, warning }) => (
                  <>
                    <State word={state} />
                    {(error ?? warning) && <div class="small-text attention">{error ?? warning}</div>}
                  </>
                ),
              },
              { head: 'Tries', kind: 'number', cell: ({ attempts }) => attempts },
            ]}
          />
        </section>
      )}
      {reading.data ? <Settings key={JSON.stringify(reading.data)} settings={reading.data} /> : <Waiting reading={reading} what="page" />}
    </Page>
  );
}

const delays = [0, 1, 2, 3, 5, 10, 15, 30];

function Settings({ settings: { email, phone, rules } }: { settings: OncallPaging }) {
  const why = useWhy();
  const [number, setNumber] = useState(phone ?? '');
  const [list, setList] = useState(rules);
  const save = () =>
    attempt({
      what: 'save how you are paged',
      done: 'Saved',
      kinds,
      work: () => api().oncall.savePagingSettings({ ...(number.trim() ? { phone: number.trim() } : {}), rules: list }),
    });
  return (
    <section>
      <h2>Channels</h2>
      <Sheet rows={[['Address', email]]} />
      <Form action="Save" why={why('savePagingSettings')} onSubmit={save}>
        <TextField
          label="Phone"
          type="tel"
          value={number}
          onChange={setNumber}
          placeholder="+33612345678"
          hint="For SMS and calls, with the country's code"
        />
        <fieldset>
          <legend>When a step pages you</legend>
          <ol class="order">
            {list.map(({ channel, delaySeconds }, at) => (
              <li key={`${at} ${channel}`}>
                <SelectField
                  label={`Rule ${at + 1}`}
                  value={channel}
                  onChange={(value) => setList(list.with(at, { channel: value, delaySeconds }))}
                  options={[
                    { value: 'email', label: 'email' },
                    { value: 'sms', label: 'SMS' },
                    { value: 'voice', label: 'call' },
                  ]}
                />
                <SelectField
                  label="after"
                  value={String(delaySeconds)}
                  onChange={(value) => setList(list.with(at, { channel, delaySeconds: Number(value) }))}
                  options={[...new Set([...delays.map((minutes) => minutes * 60), delaySeconds])].map((seconds) => ({
                    value: String(seconds),
                    label: seconds ? `${seconds / 60} min` : 'at once',
                  }))}
                />
                <Button
                  small
                  kind="quiet"
                  why={list.length === 1 ? 'One way to reach you must stay' : undefined}
                  onPress={() => setList(list.toSpliced(at, 1))}
                >
                  Remove
                </Button>
              </li>
            ))}
          </ol>
          <Button
            small
            why={list.length >= 10 ? 'Ten rules are the most' : undefined}
            onPress={() => setList([...list, { channel: 'sms', delaySeconds: 300 }])}
          >
            Add a rule
          </Button>
        </fieldset>
      </Form>
      <p class="hint">They hold in every organization of yours.</p>
    </section>
  );
}
