import { useMemo } from 'preact/hooks';
import type { EmailMessage } from '../../../sdk/browser.ts';
import { useEndless } from '../../data/endless.ts';
import { open, query, setQuery } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { useTyped } from '../../data/typed.ts';
import { useScreenKeys } from '../../shell/keys.ts';
import { Button } from '../../ui/button.tsx';
import { Empty } from '../../ui/empty.tsx';
import { EndlessNote } from '../../ui/endless-note.tsx';
import { FilterSelect } from '../../ui/fields.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { useRowKeys } from '../../ui/row-keys.ts';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useDomains } from './readings.ts';

const states = ['queued', 'sending', 'deferred', 'sent', 'delivered', 'bounced', 'complained', 'suppressed', 'failed', 'received'];
const directions = { send: 'Sent', receive: 'Received' };
type Direction = keyof typeof directions;

/** The log of the last 90 days, filtered on the server. */
export default function Messages() {
  const why = useWhy();
  const domains = useDomains();
  const [to, setTo] = useTyped('to');
  const given = (name: string) => query.value.get(name) ?? '';
  const direction = Object.keys(directions).find((word) => word === given('direction')) as Direction | undefined;
  const state = states.find((word) => word === given('state'));
  const domainId = given('domain');
  const since = /^\d{4}-\d\d-\d\d$/.test(given('since')) ? given('since') : '';
  const isWhole = /^\S+@\S+\.\S+$/.test(to);
  const filters = {
    ...(direction ? { direction } : {}),
    ...(state ? { state } : {}),
    ...(domainId ? { domainId } : {}),
    ...(to ? { to } : {}),
    ...(since ? { since: new Date(`${since}T00:00`).toISOString() } : {}),
  };
  const isFiltered = Object.keys(filters).length > 0;
  const list = useEndless<EmailMessage>({
    key: ['messages', filters],
    kinds: ['email.message'],
    isOff: to !== '' && !isWhole,
    ask: async (client, cursor, signal) => {
      const { messages, cursor: next } = await client.email.listMessages(
        { ...filters, ...(cursor ? { cursor } : {}) },
        signal ? { signal } : {},
      );
      return { rows: messages, cursor: next };
    },
  });
  const { rows } = list;
  const { current, keys } = useRowKeys(
    useMemo(() => rows?.map(({ id }) => id) ?? [], [rows]),
    'message',
  );
  useScreenKeys(keys);
  const clear = () => {
    setTo('');
    for (const name of ['to', 'direction', 'state', 'domain', 'since']) setQuery(name, undefined);
  };
  return (
    <Page
      title="Messages"
      actions={
        <Button kind="primary" why={why('listSendKeys')} onPress={() => open('/email/keys')}>
          Send from a program
        </Button>
      }
      code={[{ operation: 'listMessages', input: filters }]}
    >
      <search class="toolbar">
        <input
          type="search"
          aria-label="To this address"
          placeholder="To: ada@example.com"
          value={to}
          onInput={(event) => setTo(event.currentTarget.value.trim())}
        />
        <Choice name="direction" label="Direction" all="Sent and received" options={Object.entries(directions)} />
        <Choice name="state" label="State" all="In every state" options={states.map((word) => [word, word])} />
        {domains.data && domains.data.length > 1 && (
          <Choice name="domain" label="Domain" all="All domains" options={domains.data.map(({ id, name }) => [id, name])} />
        )}
        <label class="inline">
          Since <input type="date" value={since} onInput={(event) => setQuery('since', event.currentTarget.value)} />
        </label>
      </search>
      {to && !isWhole ? (
        <p class="note">Type the whole address: it is found by an index, among millions of recipients.</p>
      ) : !rows ? (
        <Waiting reading={list} what="log" />
      ) : rows.length ? (
        <>
          <Table
            look="even messages"
            label="Messages, the newest first"
            rows={rows}
            keyOf={({ id }) => id}
            to={({ id }) => `/email/messages/${id}`}
            onEnd={list.more}
            current={current}
            isCurrentFocused
            columns={[
              {
                head: 'Message',
                cell: (message) => <bdi title={message.subject}>{message.subject || 'No subject'}</bdi>,
              },
              {
                head: 'To',
                cell: ({ to: addresses, cc = [] }) => (
                  <bdi title={[...addresses, ...cc].join(', ')}>{[...addresses, ...cc].join(', ')}</bdi>
                ),
              },
              { head: 'State', cell: ({ state: word }) => <State word={word} /> },
              { head: 'When', cell: ({ createdAt }) => <Age at={createdAt} long /> },
            ]}
          />
          <EndlessNote list={list} noun="message" />
        </>
      ) : isFiltered ? (
        <Empty title="No message matches" action={<Button onPress={clear}>Show all messages</Button>} />
      ) : (
        <Empty title="No message yet" command="quarterdeck email keys create --name shop">
          Mail that is sent or received appears here, with what became of each recipient. A program sends with a{' '}
          <Link to="/email/keys">send key</Link>.
        </Empty>
      )}
    </Page>
  );
}

const Choice = ({ name, label, all, options }: { name: string; label: string; all: string; options: readonly (readonly string[])[] }) => (
  <FilterSelect
    label={label}
    all={all}
    value={query.value.get(name) ?? ''}
    onChange={(value) => setQuery(name, value)}
    options={options.map(([value = '', words = value]) => ({ value, label: words }))}
  />
);
