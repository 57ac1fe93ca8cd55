import { useEffect, useState } from 'preact/hooks';
import type { Api } from '../../../sdk/browser.ts';
import { useMembers } from '../../data/members.ts';
import { localInput, momentOf } from '../../data/moments.ts';
import { query, setQuery } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { Button } from '../../ui/button.tsx';
import { Written } from '../../ui/cell.tsx';
import { Empty } from '../../ui/empty.tsx';
import { Page } from '../../ui/page.tsx';
import { Table } from '../../ui/table.tsx';
import { Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';

type Entry = Awaited<ReturnType<Api['organization']['listAudit']>>['entries'][number];

const pageSize = 100;
const maxPages = 20;
const words = ['actor', 'target', 'action'] as const;
const times = ['from', 'to'] as const;
const labels = { actor: 'Who: address or id', target: 'Of what: an id', action: 'Action begins with', from: 'From', to: 'To' };

/** Who did what, narrowed by a filter that is in the address: a colleague sees the same by the same link. */
export default function Audit() {
  const members = useMembers();
  const [pages, setPages] = useState(1);
  const input = Object.fromEntries([...words, ...times].flatMap((name) => (query.value.get(name) ? [[name, query.value.get(name)!]] : [])));
  const isFiltered = Object.keys(input).length > 0;
  const reading = useQuery({
    key: ['audit', input, pages],
    kinds: ['organization.audit'],
    ask: async (api, signal) => {
      const entries: Entry[] = [];
      let isMore = false;
      let read = 0;
      for await (const answer of api.organization.listAudit.pages({ ...input, limit: pageSize }, { signal })) {
        entries.push(...answer.entries);
        isMore = answer.cursor !== undefined;
        if (++read === pages) break;
      }
      return { entries, isMore };
    },
  });
  const { data } = reading;
  const change = (name: string, value: string | undefined) => {
    setPages(1);
    setQuery(name, value);
  };
  const clear = () => {
    for (const name of [...words, ...times]) change(name, undefined);
  };
  return (
    <Page title="Audit log" code={[{ operation: 'listAudit', input }]}>
      <search class="toolbar">
        {words.map((name) => (
          <FilterField key={name} name={name} value={input[name] ?? ''} onChange={(text) => change(name, text.trim())} />
        ))}
        <datalist id="actors">
          {members.map(({ value, label }) => (
            <option key={value} value={value}>
              {label}
            </option>
          ))}
        </datalist>
        {times.map((name) => (
          <span key={name} class="row">
            {labels[name]}
            <FilterField
              name={name}
              isTime
              value={input[name] && !Number.isNaN(Date.parse(input[name])) ? localInput(Date.parse(input[name])) : ''}
              onChange={(text) => change(name, momentOf(text))}
            />
          </span>
        ))}
        {isFiltered && (
          <Button small onPress={clear}>
            Show all
          </Button>
        )}
      </search>
      {!data ? (
        <Waiting reading={reading} what="log" />
      ) : data.entries.length ? (
        <>
          <Table<Entry>
            label="Audit log, newest first"
            rows={data.entries}
            keyOf={({ id }) => id}
            columns={[
              { head: 'At', cell: ({ at }) => <Moment at={at} options={{ dateStyle: 'short', timeStyle: 'medium' }} /> },
              {
                head: 'Who',
                cell: ({ actor, actorLabel }) => (
                  <Button small kind="quiet" label={`Only what ${actorLabel} did`} onPress={() => change('actor', actor)}>
                    {actorLabel}
                  </Button>
                ),
              },
              { head: 'Did', cell: ({ action }) => <code>{action}</code> },
              {
                head: 'To',
                cell: ({ target }) => (
                  <Button small kind="quiet" label={`Only what was done to ${target}`} onPress={() => change('target', target)}>
                    {target}
                  </Button>
                ),
              },
              { head: 'Detail', cell: ({ detail }) => <Written value={detail} name="detail" /> },
            ]}
          />
          {data.isMore && pages < maxPages && (
            <p>
              <Button onPress={() => setPages(pages + 1)}>Show older</Button>
            </p>
          )}
          {data.isMore && pages === maxPages && <p class="note">There is more: narrow the times, or read on with the command line.</p>}
        </>
      ) : (
        <Empty title={isFiltered ? 'Nothing matches' : 'Nothing yet'}>
          Every change of the organization appears here, with who made it.{' '}
          {isFiltered && 'Actions are lower-case words with dots, such as uptime.monitor.'}
        </Empty>
      )}
    </Page>
  );
}

interface FilterFieldProps {
  name: keyof typeof labels;
  value: string;
  onChange(text: string): void;
  isTime?: boolean;
}

/** What is typed stays while the log is read again; it filters on Enter, or when the field is left. */
function FilterField({ name, value, onChange, isTime = false }: FilterFieldProps) {
  const [text, setText] = useState(value);
  useEffect(() => setText(value), [value]);
  return (
    <input
      type={isTime ? 'datetime-local' : 'search'}
      aria-label={labels[name]}
      placeholder={labels[name]}
      value={text}
      list={name === 'actor' ? 'actors' : undefined}
      onInput={(event) => setText(event.currentTarget.value)}
      onChange={(event) => onChange(event.currentTarget.value)}
    />
  );
}
