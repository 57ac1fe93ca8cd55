import type { Api, EmailRecipient } from '../../../sdk/browser.ts';
import { query, setQuery } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useMay } from '../../data/rights.ts';
import { bytes } from '../../ui/cell.tsx';
import { Value } from '../../ui/copy.tsx';
import { counted } from '../../ui/counted.ts';
import { FilterSelect } from '../../ui/fields.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age, Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { nameOf, useDomains } from './readings.ts';

const crumbs = [{ to: '/email/messages', label: 'Messages' }];
type Detail = Awaited<ReturnType<Api['email']['getMessage']>>;

const doors: Record<string, string> = { http: 'the API', smtp: 'SMTP', mx: 'the MX port', relay: 'this server itself' };

/** A message: what became of each recipient, and every attempt in the words of the other server. */
export default function Message({ params: { id = '' } }: { params: Record<string, string> }) {
  const domains = useDomains();
  const mayDeliveries = useMay('listWebhookDeliveries');
  const reading = useQuery({
    key: ['message', id],
    kinds: ['email.message'],
    ask: (client, signal) => client.email.getMessage(id, { signal }),
  });
  const detail = reading.data;
  if (!detail)
    return (
      <Page title="Message" crumbs={crumbs}>
        <Waiting reading={reading} what="message" />
      </Page>
    );
  const { message, recipients = [] } = detail;
  const { subject, state, from, to, cc, sizeBytes, door, domainId, createdAt, direction, lastError } = message;
  return (
    <Page
      title={subject || 'No subject'}
      crumbs={crumbs}
      aside={<State word={state} />}
      code={[
        { operation: 'getMessage', params: [id] },
        { operation: 'getMessageContent', params: [id] },
      ]}
    >
      {lastError && direction === 'receive' && <p class="note attention">{lastError}</p>}
      {recipients.length > 0 && <Recipients recipients={recipients} />}
      <Attempts detail={detail} />
      <h2>The message</h2>
      <Sheet
        rows={[
          ['From', <bdi key="from">{from}</bdi>],
          ['To', <bdi key="to">{to.join(', ')}</bdi>],
          cc !== undefined && ['Cc', <bdi key="cc">{cc.join(', ')}</bdi>],
          [direction === 'send' ? 'Handed in' : 'Arrived', <Moment key="at" at={createdAt} />],
          ['By', doors[door ?? ''] ?? door],
          ['Size', bytes(sizeBytes)],
          [
            'Domain',
            <Link key="domain" to={`/email/domains/${domainId}`}>
              {nameOf(domains.data, domainId)}
            </Link>,
          ],
          mayDeliveries && [
            'Webhooks',
            <Link key="webhooks" to={`/email/deliveries?message=${id}`}>
              what was told of it
            </Link>,
          ],
          ['Id', <Value key="id" text={id} />],
        ]}
      />
      <p class="hint">The raw message is kept for 30 days: the button &lt;/&gt; above shows the line that fetches it.</p>
    </Page>
  );
}

const Recipients = ({ recipients }: { recipients: readonly EmailRecipient[] }) => (
  <section>
    <h2>What became of it</h2>
    <Table
      label="Recipients"
      rows={recipients}
      keyOf={({ address }) => address}
      columns={[
        { head: 'Recipient', cell: ({ address }) => <bdi>{address}</bdi> },
        {
          head: 'State',
          cell: ({ state, stateAt }) => (
            <>
              <State word={state} /> <Age at={stateAt} long />
            </>
          ),
        },
        { head: 'Put off', kind: 'number', cell: ({ deferrals }) => (deferrals ? counted(deferrals, 'time') : 'never') },
        { head: 'Next attempt', cell: ({ nextAttemptAt }) => (nextAttemptAt ? <Age at={nextAttemptAt} /> : <span class="faint">–</span>) },
        { head: 'The other server said', cell: ({ lastError }) => <bdi>{lastError ?? '–'}</bdi> },
      ]}
    />
  </section>
);

interface Step {
  at: string;
  word: string;
  recipient?: string | undefined;
  detail?: Record<string, unknown> | undefined;
  more?: string | undefined;
}

/** Oldest first, as it happened. */
const stepsOf = ({ events, deferrals = [] }: Detail): Step[] =>
  [
    ...events.map(({ occurredAt, kind, bounceType, recipient, detail }) => ({
      at: occurredAt,
      word: kind as string,
      more: bounceType && `${bounceType} bounce`,
      recipient,
      detail,
    })),
    ...deferrals.map(({ occurredAt, recipient, detail }) => ({ at: occurredAt, word: 'deferred', recipient, detail })),
  ].toSorted((a, b) => a.at.localeCompare(b.at));

function Attempts({ detail }: { detail: Detail }) {
  const chosen = query.value.get('recipient') ?? '';
  const addresses = (detail.recipients ?? []).map(({ address }) => address);
  const steps = stepsOf(detail).filter(({ recipient }) => !chosen || recipient === undefined || recipient === chosen);
  return (
    <section>
      <h2>Every attempt</h2>
      {addresses.length > 1 && (
        <p class="toolbar">
          <FilterSelect
            label="Recipient"
            all="Of all recipients"
            value={chosen}
            onChange={(address) => setQuery('recipient', address)}
            options={addresses.map((address) => ({ value: address, label: address }))}
          />
        </p>
      )}
      {steps.length ? (
        <ol class="log" aria-label="Attempts, the oldest first">
          {steps.map((step, at) => (
            <li key={at}>
              <OneStep step={step} />
            </li>
          ))}
        </ol>
      ) : (
        <p class="faint">No attempt was made yet.</p>
      )}
    </section>
  );
}

const text = (detail: Record<string, unknown> | undefined, name: string): string | undefined => {
  const value = detail?.[name];
  return typeof value === 'string' || typeof value === 'number' ? String(value) : undefined;
};

function OneStep({ step: { at, word, recipient, detail, more } }: { step: Step }) {
  const [host, ip] = [text(detail, 'mx'), text(detail, 'ip')];
  const said = text(detail, 'response') ?? text(detail, 'reason') ?? text(detail, 'diagnostic');
  const code = text(detail, 'code');
  return (
    <>
      <Moment at={at} options={{ dateStyle: 'short', timeStyle: 'medium' }} /> <State word={word} /> {more && <span>{more} </span>}
      {recipient && <bdi>{recipient}</bdi>}
      {(host ?? ip) && (
        <div>
          at <bdi>{host ?? ip}</bdi>
          {host && ip && ` (${ip})`}
        </div>
      )}
      {said && (
        <div>
          <q>
            <bdi>{code && !said.startsWith(code) ? `${code} ${said}` : said}</bdi>
          </q>
        </div>
      )}
      {detail && Object.keys(detail).length > 0 && (
        <details class="small-text">
          <summary>
            Everything noted<span class="hidden"> of the attempt at {at}</span>
          </summary>
          <pre class="answer">{JSON.stringify(detail, null, 2)}</pre>
        </details>
      )}
    </>
  );
}
