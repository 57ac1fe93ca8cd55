import { useState } from 'preact/hooks';
import { act, attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { useQuery } from '../../data/query.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { Button } from '../../ui/button.tsx';
import { Dialog } from '../../ui/dialog.tsx';
import { Empty } from '../../ui/empty.tsx';
import { TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Page } from '../../ui/page.tsx';
import { State } from '../../ui/state.tsx';
import { Table } from '../../ui/table.tsx';
import { Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { policyKinds } from './policy-form.tsx';
import { useOncallServices } from './readings.ts';

const kinds = [...policyKinds, 'oncall.provider'];

/** Which policy each service has, and whether somebody would be paged for it now. */
export default function Services() {
  const why = useWhy();
  const reading = useOncallServices();
  const policies = useQuery({
    key: ['policies'],
    kinds: policyKinds,
    isOff: !useMay('listEscalationPolicies'),
    ask: (client, signal) => client.oncall.listEscalationPolicies({ signal }),
  });
  const doctor = useQuery({ key: ['doctor'], kinds, ask: (client, signal) => client.oncall.examineOncall({}, { signal }) });
  const [isNew, setNew] = useState(false);
  const [shown, setShown] = useState<{ id: string; name: string }>();
  const services = reading.data?.services;
  const told = new Map(doctor.data?.services.map((one) => [one.serviceId, one]));
  const known = [{ id: '', name: 'No policy: pages no one' }, ...(policies.data?.policies ?? [])];
  const refusal = why('setServicePolicy');
  return (
    <Page
      title="Who is paged"
      actions={
        <Button kind="primary" why={why('createOncallService')} onPress={() => setNew(true)}>
          New service
        </Button>
      }
      code={[
        { operation: 'listOncallServices' },
        { operation: 'examineOncall' },
        { operation: 'setServicePolicy', params: ['<service>'], input: { escalationPolicyId: '<policy>' } },
      ]}
    >
      {refusal && <p class="hint">{refusal}</p>}
      {!services ? (
        <Waiting reading={reading} what="list" />
      ) : services.length ? (
        <Table
          label="Services"
          rows={services}
          keyOf={({ id }) => id}
          to={({ id }) => `/services/${id}`}
          columns={[
            { head: 'Service', cell: ({ name }) => name },
            {
              head: 'Policy',
              cell: ({ id, name, escalationPolicyId = '' }) => {
                // Its policy may be one that this person cannot read, or that is not read yet: never show it as none.
                const its = known.find((policy) => policy.id === escalationPolicyId);
                if (refusal) return <bdi>{its?.name ?? escalationPolicyId}</bdi>;
                const options = its ? known : [...known, { id: escalationPolicyId, name: escalationPolicyId }];
                return (
                  <select
                    aria-label={`Policy of ${name}`}
                    value={escalationPolicyId}
                    onChange={(event) => {
                      const chosen = event.currentTarget.value || null;
                      void act({
                        what: `change who is paged for ${name}`,
                        done: `Changed who is paged for ${name}`,
                        kinds,
                        work: () => api().oncall.setServicePolicy(id, { escalationPolicyId: chosen }),
                      });
                    }}
                  >
                    {options.map((policy) => (
                      <option key={policy.id} value={policy.id} selected={policy.id === escalationPolicyId}>
                        {policy.name}
                      </option>
                    ))}
                  </select>
                );
              },
            },
            {
              head: 'Now',
              cell: ({ id }) => {
                const one = told.get(id);
                if (!one) return <span class="faint">–</span>;
                return (
                  <>
                    <State word={one.paged ? 'yes' : 'no'} label={one.paged ? `pages ${one.by?.label ?? 'somebody'}` : 'pages no one'} />
                    {one.problems.slice(0, 3).map(({ sentence }) => (
                      <div key={sentence} class="small-text attention">
                        {sentence}
                      </div>
                    ))}
                  </>
                );
              },
            },
            {
              head: 'Act',
              cell: (service) => (
                <Button small why={why('previewServiceEscalation')} onPress={() => setShown(service)}>
                  Who, when?
                </Button>
              ),
            },
          ]}
        />
      ) : (
        <Empty title="No service yet" command="quarterdeck oncall services create --name checkout">
          A service is what people rely on. Its policy says who is paged for it.
        </Empty>
      )}
      {isNew && <NewService onClose={() => setNew(false)} />}
      {shown && <Preview service={shown} onClose={() => setShown(undefined)} />}
    </Page>
  );
}

function NewService({ onClose }: { onClose(): void }) {
  const why = useWhy();
  const [name, setName] = useState('');
  const create = async () => {
    await attempt({
      what: `create the service ${name}`,
      done: `Created ${name.trim()}`,
      kinds,
      work: () => api().oncall.createOncallService({ name }),
    });
    onClose();
  };
  return (
    <Dialog title="New service" onClose={onClose}>
      <Form action="Create the service" why={why('createOncallService')} onSubmit={create} onCancel={onClose}>
        <TextField label="Name" required isFirst value={name} onChange={setName} placeholder="checkout" />
      </Form>
    </Dialog>
  );
}

function Preview({ service: { id, name }, onClose }: { service: { id: string; name: string }; onClose(): void }) {
  const reading = useQuery({
    key: ['preview', id],
    kinds,
    ask: (client, signal) => client.oncall.previewServiceEscalation(id, {}, { signal }),
  });
  const steps = reading.data?.steps;
  return (
    <Dialog title={`If ${name} failed now`} onClose={onClose} wide>
      {!steps ? (
        <Waiting reading={reading} what="preview" />
      ) : steps.length ? (
        <Table
          label="Who would be paged when"
          rows={steps}
          keyOf={({ pass, step }) => `${pass} ${step}`}
          columns={[
            { head: 'When', cell: ({ at }) => <Moment at={at} options={{ dateStyle: 'short', timeStyle: 'medium' }} /> },
            {
              head: 'Step',
              cell: ({ step, pass, target }) => (
                <>
                  {`${step + 1}${pass ? `, pass ${pass + 1}` : ''}: `}
                  <bdi>{target.label}</bdi>
                </>
              ),
            },
            { head: 'Who', cell: ({ responder, problem }) => responder?.label ?? <span class="attention">{problem ?? 'no one'}</span> },
            {
              head: 'By',
              cell: ({ pages }) =>
                pages.map(({ channel, at, problem }) => (
                  <div key={`${channel} ${at}`}>
                    {channel} {problem && <span class="attention small-text">{problem}</span>}
                  </div>
                )),
            },
          ]}
        />
      ) : (
        <p class="note attention">No one: the service has no policy.</p>
      )}
    </Dialog>
  );
}
