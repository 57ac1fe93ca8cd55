import { useState } from 'preact/hooks';
import type { StatusPageHeldBack, StatusPageSubscriber } from '../../../sdk/browser.ts';
import { act } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Empty } from '../../ui/empty.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useSubscribers } from './readings.ts';

/** First mails that did not leave, and why. */
export const HeldBack = ({ list }: { list: readonly StatusPageHeldBack[] }) => (
  <>
    {list.map(({ reason, mails, lastAt, sentence }) => (
      <p key={reason} class="note attention">
        {mails} first {mails === 1 ? 'mail' : 'mails'} to readers held back, the last <Age at={lastAt} long />: {sentence}
      </p>
    ))}
  </>
);

/** Readers who get each update by mail. */
export function Subscribers({ slug }: { slug: string }) {
  const why = useWhy();
  const reading = useSubscribers(slug);
  const [asked, setAsked] = useState<StatusPageSubscriber>();
  const { data } = reading;
  const remove = async ({ id, address }: StatusPageSubscriber) => {
    await act({
      what: `remove the subscriber ${address}`,
      done: `${address} gets no further mail`,
      kinds: ['oncall.page'],
      work: () => api().status.removeStatusPageSubscriber(slug, id),
    });
    setAsked(undefined);
  };
  if (!data) return <Waiting reading={reading} what="status page" />;
  if (!data.list.length)
    return (
      <Empty title="No subscriber yet">
        Readers subscribe on the page itself, where this server can send mail. Each one confirms by a link in the first mail.
      </Empty>
    );
  return (
    <>
      {data.isCut && <p class="note attention">The newest {data.list.length} subscribers are shown; the command line lists all.</p>}
      <Table
        label="Subscribers, the newest first"
        rows={data.list}
        keyOf={({ id }) => id}
        columns={[
          { head: 'Address', cell: ({ address }) => <bdi>{address}</bdi> },
          {
            head: 'State',
            cell: ({ state }) => (
              <State word={state} label={state === 'pending' ? 'not confirmed yet' : state === 'active' ? 'gets mails' : state} />
            ),
          },
          { head: 'Since', cell: ({ confirmedAt, createdAt }) => <Age at={confirmedAt ?? createdAt} long /> },
          {
            head: 'Act',
            cell: (subscriber) => (
              <Button
                small
                why={why('removeStatusPageSubscriber')}
                onPress={() => setAsked(subscriber)}
                label={`Remove ${subscriber.address}`}
              >
                Remove
              </Button>
            ),
          },
        ]}
      />
      {asked && (
        <ConfirmLoss
          operation="removeStatusPageSubscriber"
          name={asked.address}
          action="Remove"
          onConfirm={() => remove(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </>
  );
}
