import { useState } from 'preact/hooks';
import type { EmailDelivery } from '../../../sdk/browser.ts';
import { act } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useEndless } from '../../data/endless.ts';
import { query, setQuery } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Code, Value } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { EndlessNote } from '../../ui/endless-note.tsx';
import { FilterSelect } from '../../ui/fields.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age, Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { nameOf, useWebhooks } from './readings.ts';

const kinds = ['email.webhook'];

/** Everything that webhooks were told in the last 30 days, or could not be told. */
export default function Deliveries() {
  const webhooks = useWebhooks();
  const endpointId = query.value.get('webhook') ?? '';
  const messageId = query.value.get('message') ?? '';
  const filters = { ...(endpointId ? { endpointId } : {}), ...(messageId ? { messageId } : {}) };
  const list = useEndless<EmailDelivery>({
    key: ['deliveries', filters],
    kinds,
    ask: async (client, cursor, signal) => {
      const { deliveries, cursor: next } = await client.email.listWebhookDeliveries(
        { ...filters, ...(cursor ? { cursor } : {}) },
        signal ? { signal } : {},
      );
      return { rows: deliveries, cursor: next };
    },
  });
  const [shown, setShown] = useState<number>();
  const { rows } = list;
  return (
    <Page
      title="Webhook deliveries"
      crumbs={[{ to: '/email/webhooks', label: 'Webhooks' }]}
      code={[
        { operation: 'listWebhookDeliveries', input: filters },
        { operation: 'getWebhookDelivery', params: ['<id>'] },
      ]}
    >
      <search class="toolbar">
        <FilterSelect
          label="Webhook"
          all="All webhooks"
          value={endpointId}
          onChange={(id) => setQuery('webhook', id)}
          options={(webhooks.data ?? []).map(({ id, url }) => ({ value: id, label: url }))}
        />
        {messageId && (
          <>
            <span>
              About <Link to={`/email/messages/${messageId}`}>one message</Link>
            </span>
            <Button small onPress={() => setQuery('message', undefined)}>
              About all
            </Button>
          </>
        )}
      </search>
      {!rows ? (
        <Waiting reading={list} what="list" />
      ) : rows.length ? (
        <>
          <Table
            look="even deliveries"
            label="Deliveries, the newest first"
            rows={rows}
            keyOf={({ id }) => String(id)}
            onEnd={list.more}
            columns={[
              { head: 'Event', cell: ({ eventType }) => eventType },
              { head: 'To', kind: 'wide', cell: (one) => <bdi>{nameOf(webhooks.data, one.endpointId)}</bdi> },
              {
                head: 'State',
                cell: ({ state, lastStatus }) => (
                  <>
                    <State word={state} />
                    {lastStatus !== undefined && ` ${lastStatus}`}
                  </>
                ),
              },
              { head: 'When', cell: ({ createdAt }) => <Age at={createdAt} long /> },
              {
                head: 'Act',
                cell: ({ id, eventType }) => (
                  <Button small onPress={() => setShown(id)} label={`Look at ${eventType} ${id}`}>
                    Look
                  </Button>
                ),
              },
            ]}
          />
          <EndlessNote list={list} noun="delivery" />
        </>
      ) : (
        <Empty title={endpointId || messageId ? 'Nothing was told' : 'No delivery yet'} command="quarterdeck email webhooks list">
          Each event for each webhook appears here, with the answer of your program.
        </Empty>
      )}
      {shown !== undefined && <Delivery id={shown} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

function Delivery({ id, onClose }: { id: number; onClose(): void }) {
  const why = useWhy();
  const webhooks = useWebhooks();
  const reading = useQuery({ key: ['delivery', id], kinds, ask: (client, signal) => client.email.getWebhookDelivery(id, { signal }) });
  const detail = reading.data;
  const again = async () => {
    const done = await act({
      what: 'deliver again',
      done: 'It is on its way again, with the same payload',
      kinds,
      work: () => api().email.redeliverWebhook(id),
    });
    if (done) onClose();
  };
  if (!detail)
    return (
      <Dialog title="A delivery" onClose={onClose} wide>
        <Waiting reading={reading} what="delivery" />
      </Dialog>
    );
  const { eventType, endpointId, state, attempts, lastStatus, lastError, deliveredAt, createdAt, messageId } = detail.delivery;
  return (
    <Dialog title={eventType} onClose={onClose} wide>
      <Sheet
        rows={[
          ['State', <State key="state" word={state} />],
          ['To', <bdi key="to">{nameOf(webhooks.data, endpointId)}</bdi>],
          ['Attempts', `${attempts} of at most 10`],
          lastStatus !== undefined && ['Its answer', String(lastStatus)],
          lastError !== undefined && ['What was wrong', <bdi key="error">{lastError}</bdi>],
          ['Made', <Moment key="made" at={createdAt} />],
          deliveredAt !== undefined && ['Delivered', <Moment key="delivered" at={deliveredAt} />],
          messageId !== undefined && [
            'About',
            <Link key="about" to={`/email/messages/${messageId}`}>
              the message
            </Link>,
          ],
          ['webhook-id', <Value key="id" text={detail.webhookId} />],
        ]}
      />
      <h3>Payload</h3>
      {detail.payload === undefined ? (
        <p class="faint">It is past its time, or tells of a message that your roles do not read.</p>
      ) : (
        <Code text={indented(detail.payload)} label="The payload" />
      )}
      <p class="buttons">
        <Button kind="primary" why={why('redeliverWebhook')} onPress={again}>
          Send again
        </Button>
        <Button onPress={onClose}>Close</Button>
      </p>
    </Dialog>
  );
}

function indented(payload: string): string {
  try {
    return JSON.stringify(JSON.parse(payload), null, 2);
  } catch {
    return payload;
  }
}
