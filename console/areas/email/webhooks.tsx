import { useState } from 'preact/hooks';
import type { EmailWebhook } from '../../../sdk/browser.ts';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useCommands } from '../../data/commands.ts';
import { useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Code } from '../../ui/copy.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { CheckField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { useWebhooks } from './readings.ts';
import { verifySnippet } from './snippets.ts';

const kinds = ['email.webhook'];
type Asked = { what: 'edit' | 'rotate' | 'delete'; webhook: EmailWebhook };

/** Programs that are told what becomes of mail. */
export default function Webhooks() {
  const why = useWhy();
  const reading = useWebhooks();
  const [isNew, setNew] = useState(false);
  const [asked, setAsked] = useState<Asked>();
  const [secret, setSecret] = useState<string>();
  const webhooks = reading.data;
  const close = () => setAsked(undefined);
  const create = (
    <Button kind="primary" why={why('createWebhook')} onPress={() => setNew(true)}>
      New webhook
    </Button>
  );
  const remove = async ({ id, url }: EmailWebhook) => {
    await act({ what: `delete the webhook ${url}`, done: 'The webhook is deleted', kinds, work: () => api().email.deleteWebhook(id) });
    close();
  };
  const rotate = async ({ id, url }: EmailWebhook) => {
    const done = await act({ what: `rotate the secret of ${url}`, kinds, work: () => api().email.rotateWebhookSecret(id) });
    close();
    if (done) setSecret(done.answer.signingSecret);
  };
  const turn = ({ id, url, disabled }: EmailWebhook) =>
    act({
      what: `change the webhook ${url}`,
      done: disabled ? 'It is told again from now on' : 'It is told nothing more; deliveries that waited have failed',
      kinds,
      work: () => api().email.updateWebhook(id, { disabled: !disabled }),
    });
  return (
    <Page
      title="Webhooks"
      actions={webhooks?.length !== 0 && create}
      code={[{ operation: 'listWebhooks' }, { operation: 'listWebhookDeliveries' }]}
    >
      {!webhooks ? (
        <Waiting reading={reading} what="list" />
      ) : webhooks.length ? (
        <Table
          label="Webhooks"
          rows={webhooks}
          keyOf={({ id }) => id}
          to={({ id }) => `/email/deliveries?webhook=${id}`}
          columns={[
            { head: 'Address', cell: ({ url }) => url },
            { head: 'Told of', cell: ({ eventTypes }) => eventTypes.join(', ') },
            {
              head: 'State',
              cell: ({ disabled, disabledReason }) =>
                disabled ? (
                  <>
                    <State word="failed" label="off" />
                    <div class="hint">
                      <bdi>{disabledReason}</bdi>
                    </div>
                  </>
                ) : (
                  <State word="active" label="on" />
                ),
            },
            {
              head: 'Act',
              cell: (webhook) => (
                <span class="buttons">
                  <Button
                    small
                    why={why('updateWebhook')}
                    onPress={() => setAsked({ what: 'edit', webhook })}
                    label={`Edit ${webhook.url}`}
                  >
                    Edit
                  </Button>
                  <Button small why={why('updateWebhook')} onPress={() => turn(webhook)}>
                    {webhook.disabled ? 'Turn on' : 'Turn off'}
                  </Button>
                  <Button
                    small
                    why={why('rotateWebhookSecret')}
                    onPress={() => setAsked({ what: 'rotate', webhook })}
                    label={`New secret for ${webhook.url}`}
                  >
                    New secret
                  </Button>
                  <Button
                    small
                    why={why('deleteWebhook')}
                    onPress={() => setAsked({ what: 'delete', webhook })}
                    label={`Delete ${webhook.url}`}
                  >
                    Delete
                  </Button>
                </span>
              ),
            },
          ]}
        />
      ) : (
        <Empty
          title="No webhook yet"
          action={create}
          command="quarterdeck email webhooks create --url https://shop.example/hooks --event-types email.delivered,email.bounced"
        >
          A webhook is an address of your program that is told what became of mail, signed by Standard Webhooks.
        </Empty>
      )}
      {isNew && (
        <WebhookForm
          onClose={() => setNew(false)}
          onSecret={(made) => {
            setNew(false);
            setSecret(made);
          }}
        />
      )}
      {asked?.what === 'edit' && <WebhookForm webhook={asked.webhook} onClose={close} onSecret={setSecret} />}
      {asked?.what === 'rotate' && (
        <ConfirmLoss
          operation="rotateWebhookSecret"
          name={asked.webhook.url}
          action="New secret for"
          onConfirm={() => rotate(asked.webhook)}
          onClose={close}
        >
          <p>The old secret stops signing at once: your program refuses what it is told until it knows the new one.</p>
        </ConfirmLoss>
      )}
      {asked?.what === 'delete' && (
        <ConfirmLoss
          operation="deleteWebhook"
          name={asked.webhook.url}
          action="Delete"
          onConfirm={() => remove(asked.webhook)}
          onClose={close}
        />
      )}
      {secret !== undefined && <Secret secret={secret} onClose={() => setSecret(undefined)} />}
    </Page>
  );
}

interface WebhookFormProps {
  webhook?: EmailWebhook;
  onClose(): void;
  onSecret(secret: string): void;
}

type EventTypes = Parameters<ReturnType<typeof api>['email']['createWebhook']>[0]['eventTypes'];

function WebhookForm({ webhook, onClose, onSecret }: WebhookFormProps) {
  const why = useWhy();
  const types =
    useCommands()
      ?.byOperation.get('createWebhook')
      ?.fields.find(({ name }) => name === 'eventTypes')?.choices ?? [];
  const [url, setUrl] = useState(webhook?.url ?? '');
  const [chosen, setChosen] = useState<readonly string[]>(webhook?.eventTypes ?? ['email.delivered', 'email.bounced', 'email.complained']);
  const operation = webhook ? 'updateWebhook' : 'createWebhook';
  const save = async () => {
    const input = { url, eventTypes: types.filter((type) => chosen.includes(type)) as EventTypes };
    if (!input.eventTypes.length) throw new Error('Choose at least one event');
    if (webhook) {
      await attempt({
        what: `change the webhook ${url}`,
        done: 'The webhook is changed',
        kinds,
        work: () => api().email.updateWebhook(webhook.id, input),
      });
      return onClose();
    }
    const made = await attempt({ what: `create the webhook ${url}`, kinds, work: () => api().email.createWebhook(input) });
    onSecret(made.signingSecret);
  };
  return (
    <Dialog title={webhook ? 'Edit the webhook' : 'New webhook'} onClose={onClose}>
      <Form action={webhook ? 'Save' : 'Create the webhook'} why={why(operation)} onSubmit={save} onCancel={onClose}>
        <TextField label="Address" required isFirst type="url" value={url} onChange={setUrl} placeholder="https://shop.example/hooks" />
        <fieldset>
          <legend>What it is told of</legend>
          {types.map((type) => (
            <CheckField
              key={type}
              label={type}
              value={chosen.includes(type)}
              onChange={(isOn) => setChosen(isOn ? [...chosen, type] : chosen.filter((one) => one !== type))}
            />
          ))}
        </fieldset>
      </Form>
    </Dialog>
  );
}

/** The secret, and the code that checks signatures by it. It is gone when the dialog closes. */
const Secret = ({ secret, onClose }: { secret: string; onClose(): void }) => (
  <Dialog title="The signing secret, shown once" onClose={onClose} wide>
    <p class="note attention">Copy it now: nothing here keeps it. By it your program knows that what it is told came from here.</p>
    <Code text={secret} label="The signing secret" />
    <h3>Check a request, in Node</h3>
    <Code text={verifySnippet} label="The code that checks a signature" />
    <p class="hint">Every library of Standard Webhooks does the same.</p>
  </Dialog>
);
