import { useState } from 'preact/hooks';
import type { EmailDnsObservation, EmailDomain } from '../../../sdk/browser.ts';
import { act, leave } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { duration } from '../../ui/cell.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code } from '../../ui/copy.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { repairOf, zoneFile } from './zone.ts';

const kinds = ['email.domain'];
const crumbs = [{ to: '/email/domains', label: 'Mail domains' }];

/** A domain, each of its DNS records as it stands now, and how to mend it. */
export default function Domain({ params: { id = '' } }: { params: Record<string, string> }) {
  const reading = useQuery({ key: ['mail domain', id], kinds, ask: (client, signal) => client.email.getDomain(id, { signal }) });
  const domain = reading.data;
  if (!domain)
    return (
      <Page title="Mail domain" crumbs={crumbs}>
        <Waiting reading={reading} what="domain" />
      </Page>
    );
  const { name, sendState, receiveState, dnsRecords } = domain;
  return (
    <Page
      title={name}
      crumbs={crumbs}
      aside={
        <>
          <State word={sendState} label={`sending ${sendState}`} />
          {receiveState !== 'none' && (
            <>
              {' · '}
              <State word={receiveState} label={`receiving ${receiveState}`} />
            </>
          )}
        </>
      }
      actions={<Actions domain={domain} />}
      code={[
        { operation: 'getDomainDns', params: [id] },
        { operation: 'checkDomain', params: [id] },
      ]}
    >
      {sendState === 'verified' ? (
        <p class="note good">
          Mail can be sent from it. <Link to="/email/keys">Send keys</Link> let programs do so.
        </p>
      ) : (
        <p class="note">
          Publish these records where the DNS of <bdi>{name}</bdi> is kept. They are looked for by themselves; nothing has to be pressed.
        </p>
      )}
      <Records domain={domain} />
      <h2>All of them, as a zone file</h2>
      <Code text={zoneFile(dnsRecords)} label="The zone file" />
    </Page>
  );
}

function Actions({ domain: { id, name, receiveState } }: { domain: EmailDomain }) {
  const why = useWhy();
  const [asked, setAsked] = useState<'receive' | 'delete'>();
  const close = () => setAsked(undefined);
  const check = () =>
    act({
      what: `check ${name}`,
      done: 'It is being checked; the state changes here by itself',
      kinds,
      work: () => api().email.checkDomain(id),
    });
  const arm = async () => {
    await act({
      what: `receive mail for ${name}`,
      done: 'Publish the MX record, and mail arrives here',
      kinds,
      work: () => api().email.armDomainReceiving(id),
    });
    close();
  };
  const remove = async () => {
    const done = await act({
      what: `delete the domain ${name}`,
      done: `${name} is deleted`,
      kinds: [],
      work: () => api().email.deleteDomain(id),
    });
    if (done) leave('/email/domains', kinds);
    else close();
  };
  return (
    <>
      <Button kind="primary" why={why('checkDomain', id)} onPress={check}>
        Check now
      </Button>
      {receiveState === 'none' && (
        <Button why={why('armDomainReceiving', id)} onPress={() => setAsked('receive')}>
          Receive mail
        </Button>
      )}
      <Button kind="danger" why={why('deleteDomain', id)} onPress={() => setAsked('delete')}>
        Delete
      </Button>
      {asked === 'receive' && (
        <Confirm title={`Receive mail for ${name}?`} action="Receive mail" onConfirm={arm} onClose={close}>
          <p>
            Once its MX record points here, <strong>all</strong> mail to addresses of <bdi>{name}</bdi> comes here, and to no mailbox of
            today. For a domain with mailboxes take a subdomain of its own.
          </p>
        </Confirm>
      )}
      {asked === 'delete' && <ConfirmLoss operation="deleteDomain" name={name} action="Delete" onConfirm={remove} onClose={close} />}
    </>
  );
}

function Records({ domain: { id, dnsRecords } }: { domain: EmailDomain }) {
  const reading = useQuery({
    key: ['mail domain', id, 'dns'],
    kinds,
    ask: async (client, signal) => (await client.email.getDomainDns(id, { signal })).records,
  });
  // Until the name servers have answered, what to publish is shown already.
  const records: readonly (EmailDnsObservation | undefined)[] = reading.data ?? dnsRecords.map(() => undefined);
  const found = reading.data?.filter(({ outcome }) => outcome === 'found').length;
  return (
    <section>
      <h2>DNS records</h2>
      <p role="status" class="faint">
        {reading.error
          ? reading.error.message
          : found === undefined
            ? 'The name servers are asked …'
            : `${found} of ${records.length} found`}{' '}
        <Button small onPress={reading.again}>
          Ask again
        </Button>
      </p>
      {records.map((observed, at) => {
        const record = observed ? { ...observed, value: observed.expected } : dnsRecords[at]!;
        return (
          <article key={`${record.type} ${record.name} ${record.value}`} class="card record">
            <h3>
              {observed && (
                <State
                  word={observed.outcome === 'missing' && !observed.required ? 'mismatch' : observed.outcome}
                  label={outcomeWords(observed)}
                />
              )}{' '}
              {record.type}
              {record.capability === 'receive' ? ', for receiving' : ''}
              {observed && !observed.required && <span class="faint"> (advised)</span>}
            </h3>
            <p class="hint">Name</p>
            <Code text={record.name} label={`The name of the ${record.type} record`} />
            <p class="hint">{record.priority === undefined ? 'Value' : `Mail server, with priority ${record.priority}`}</p>
            <Code text={record.value} label={`The value of the ${record.type} record at ${record.name}`} />
            {observed && <Found observed={observed} />}
          </article>
        );
      })}
    </section>
  );
}

const outcomeWords = ({ outcome, required }: EmailDnsObservation): string =>
  ({ found: 'Found', missing: required ? 'Missing' : 'Not there', mismatch: 'Wrong', error: 'Not known' })[outcome as string] ?? outcome;

const Found = ({ observed: { outcome, reason, observed, ttl, resolver, checkedAt } }: { observed: EmailDnsObservation }) => (
  <>
    {outcome !== 'found' && <p class="attention">{repairOf(reason)}</p>}
    {observed !== undefined && (
      <p>
        There stands: <code>{observed}</code>
      </p>
    )}
    <p class="hint">
      {resolver} said so <Age at={checkedAt} long />
      {ttl !== undefined && ttl > 0 && `; others may still see an older answer for ${duration(ttl)}`}
    </p>
  </>
);
