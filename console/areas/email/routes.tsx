import { useState } from 'preact/hooks';
import type { Api, EmailRoute } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { nameOf, useDomains, useWebhooks } from './readings.ts';

const kinds = ['email.route'];
type Match = Awaited<ReturnType<Api['email']['matchRoute']>>;

/** Where mail that arrives goes. */
export default function Routes() {
  const why = useWhy();
  const domains = useDomains();
  const webhooks = useWebhooks();
  const reading = useQuery({
    key: ['routes'],
    kinds,
    ask: async (client, signal) => (await client.email.listRoutes({ signal })).routes,
  });
  const [isNew, setNew] = useState(false);
  const [asked, setAsked] = useState<EmailRoute>();
  const routes = reading.data;
  const addressOf = ({ pattern, domainId }: EmailRoute) => `${pattern}@${nameOf(domains.data, domainId)}`;
  const create = (
    <Button kind="primary" why={why('createRoute')} onPress={() => setNew(true)}>
      New route
    </Button>
  );
  const remove = async (route: EmailRoute) => {
    await act({
      what: `delete the route ${addressOf(route)}`,
      done: `Mail to ${addressOf(route)} is refused from now on, unless another route fits`,
      kinds,
      work: () => api().email.deleteRoute(route.id),
    });
    setAsked(undefined);
  };
  return (
    <Page
      title="Inbound routes"
      actions={routes?.length !== 0 && create}
      code={[{ operation: 'listRoutes' }, { operation: 'matchRoute', input: { address: 'support@example.com' } }]}
    >
      {!routes ? (
        <Waiting reading={reading} what="list" />
      ) : routes.length ? (
        <Table
          label="Inbound routes"
          rows={routes}
          keyOf={({ id }) => id}
          columns={[
            { head: 'Mail to', cell: (route) => <bdi>{addressOf(route)}</bdi> },
            { head: 'Goes to', cell: ({ endpointId }) => <bdi>{nameOf(webhooks.data, endpointId)}</bdi> },
            { head: 'Made', kind: 'wide', cell: ({ createdAt }) => <Age at={createdAt} long /> },
            {
              head: 'Act',
              cell: (route) => (
                <Button small why={why('deleteRoute')} onPress={() => setAsked(route)} label={`Delete ${addressOf(route)}`}>
                  Delete
                </Button>
              ),
            },
          ]}
        />
      ) : (
        <Empty
          title="No route yet"
          action={create}
          command="quarterdeck email routes create --domain-id mail.example.com --pattern support --endpoint-id https://shop.example/hooks"
        >
          A route sends mail for an address to a webhook. Its domain is armed for receiving first, on the screen of the domain.
        </Empty>
      )}
      {routes && (
        <>
          <h2>Where would this address go?</h2>
          <MatchForm />
        </>
      )}
      {isNew && <NewRoute onClose={() => setNew(false)} />}
      {asked && (
        <ConfirmLoss
          operation="deleteRoute"
          name={addressOf(asked)}
          action="Delete"
          onConfirm={() => remove(asked)}
          onClose={() => setAsked(undefined)}
        />
      )}
    </Page>
  );
}

function NewRoute({ onClose }: { onClose(): void }) {
  const why = useWhy();
  const domains = useDomains();
  const webhooks = useWebhooks();
  const armed = domains.data?.filter(({ receiveState }) => receiveState !== 'none') ?? [];
  const [domainId, setDomain] = useState('');
  const [endpointId, setEndpoint] = useState('');
  const [pattern, setPattern] = useState('');
  const domain = domainId || armed[0]?.id;
  const endpoint = endpointId || webhooks.data?.[0]?.id;
  const create = async () => {
    if (!domain || !endpoint) throw new Error('A route needs a domain that receives, and a webhook');
    await attempt({
      what: 'create a route',
      done: 'Mail that fits goes to the webhook from now on',
      kinds,
      work: () => api().email.createRoute({ domainId: domain, pattern, endpointId: endpoint }),
    });
    onClose();
  };
  return (
    <Dialog title="New route" onClose={onClose}>
      {domains.data && !armed.length ? (
        <p class="note">
          No domain receives mail yet: arm one on its screen, under <Link to="/email/domains">Mail domains</Link>.
        </p>
      ) : webhooks.data && !webhooks.data.length ? (
        <p class="note">
          A route leads to a webhook: <Link to="/email/webhooks">make one first</Link>.
        </p>
      ) : (
        <Form action="Create the route" why={why('createRoute')} onSubmit={create} onCancel={onClose}>
          <TextField
            label="What stands before the @"
            required
            isFirst
            value={pattern}
            onChange={setPattern}
            placeholder="support"
            hint="Exactly so, or a beginning and a star such as team-*, or a star alone for all that no other route takes"
          />
          <SelectField
            label="Domain"
            value={domain ?? ''}
            onChange={setDomain}
            options={armed.map(({ id, name }) => ({ value: id, label: name }))}
          />
          <SelectField
            label="Webhook"
            value={endpoint ?? ''}
            onChange={setEndpoint}
            options={(webhooks.data ?? []).map(({ id, url }) => ({ value: id, label: url }))}
          />
        </Form>
      )}
    </Dialog>
  );
}

const outcomes: Record<string, readonly [word: string, label: string]> = {
  routed: ['accepted', 'It is accepted'],
  unverified: ['deferred', 'It is put off'],
  no_route: ['no', 'It is refused: no route fits'],
  not_received: ['no', 'It is refused: the domain does not receive'],
  return_path: ['none', 'It is a return path of this server'],
};

function MatchForm() {
  const why = useWhy();
  const webhooks = useWebhooks();
  const [address, setAddress] = useState('');
  const [found, setFound] = useState<Match>();
  const ask = async () =>
    setFound(await attempt({ what: 'ask for a route', kinds: [], work: () => api().email.matchRoute({ address: address.trim() }) }));
  const [word, label] = (found && outcomes[found.outcome]) ?? ['none', found?.outcome ?? ''];
  return (
    <>
      <Form action="Ask" why={why('matchRoute')} onSubmit={ask}>
        <TextField label="Address" required type="email" value={address} onChange={setAddress} placeholder="support@mail.example.com" />
      </Form>
      <div role="status">
        {found && (
          <div class="card">
            <p>
              <State word={word} label={label} />
              {found.pattern !== undefined && (
                <>
                  {' '}
                  by <code>{found.pattern}</code>
                </>
              )}
              {found.endpointId !== undefined && (
                <>
                  , and told to <bdi>{nameOf(webhooks.data, found.endpointId)}</bdi>
                </>
              )}
            </p>
            {found.endpointDisabled && <p class="attention">That webhook is off: what is told to it fails.</p>}
            <p>{found.sentence}</p>
          </div>
        )}
      </div>
    </>
  );
}
