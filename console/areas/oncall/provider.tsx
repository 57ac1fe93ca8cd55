import { useState } from 'preact/hooks';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Confirm } from '../../ui/confirm.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { State } from '../../ui/state.tsx';
import { Age } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';

const kinds = ['oncall.provider'];

/** The organization's account for SMS and calls. */
export default function Provider() {
  const why = useWhy();
  const reading = useQuery({ key: ['provider'], kinds, ask: (client, signal) => client.oncall.getProvider({ signal }) });
  const [accountSid, setAccount] = useState('');
  const [authToken, setToken] = useState('');
  const [fromNumber, setFrom] = useState('');
  const [isAsked, setAsked] = useState(false);
  const { data } = reading;
  const save = async () => {
    await attempt({
      what: 'set the provider',
      done: 'The provider takes these credentials: saved',
      kinds,
      work: () => api().oncall.setProvider({ accountSid: accountSid.trim(), authToken: authToken.trim(), fromNumber: fromNumber.trim() }),
    });
    setToken('');
  };
  return (
    <Page
      title="SMS and calls"
      aside={data && <State word={data.configured ? 'ready' : 'none'} label={data.configured ? 'set' : 'not set'} />}
      code={[
        { operation: 'getProvider' },
        { operation: 'setProvider', input: { accountSid: '<AC…>', authToken: '<secret>', fromNumber: '<+…>' } },
      ]}
    >
      {!data ? (
        <Waiting reading={reading} what="page" />
      ) : (
        <>
          {data.configured ? (
            <Sheet
              rows={[
                ['Account', <code key="account">{data.accountSid}</code>],
                ['Sends from', data.fromNumber],
                ['Set', data.updatedAt && <Age at={data.updatedAt} long />],
              ]}
            />
          ) : (
            <p class="note">Without a provider people are paged by mail alone. Quarterdeck speaks the API of Twilio.</p>
          )}
          <h2>{data.configured ? 'Another account' : 'Set it'}</h2>
          <Form action="Try and save" why={why('setProvider')} onSubmit={save}>
            <TextField label="Account SID" required value={accountSid} onChange={setAccount} placeholder="AC…" />
            <TextField
              label="Auth token"
              required
              type="password"
              value={authToken}
              onChange={setToken}
              hint="Kept sealed and never shown again"
            />
            <TextField label="Sends from" required type="tel" value={fromNumber} onChange={setFrom} placeholder="+33612345678" />
          </Form>
          {data.configured && (
            <Button kind="danger" why={why('clearProvider')} onPress={() => setAsked(true)}>
              Forget the provider
            </Button>
          )}
        </>
      )}
      {isAsked && (
        <Confirm
          title="Forget the provider?"
          action="Forget it"
          onClose={() => setAsked(false)}
          onConfirm={async () => {
            const done = await act({ what: 'forget the provider', done: 'Forgotten', kinds, work: () => api().oncall.clearProvider() });
            if (done) setAsked(false);
          }}
        >
          <p>You lose pages by SMS and call until another one is set. Each such page then fails visibly.</p>
        </Confirm>
      )}
    </Page>
  );
}
