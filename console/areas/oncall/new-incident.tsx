import { useState } from 'preact/hooks';
import type { OncallPreview } from '../../../sdk/browser.ts';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { draftOf, dropDraft, keepDraft } from '../../data/drafts.ts';
import { open } from '../../data/place.ts';
import { useQuery } from '../../data/query.ts';
import { useWhy } from '../../data/rights.ts';
import { Empty } from '../../ui/empty.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { incidentKinds } from './incident-acts.ts';
import { policyKinds } from './policy-form.tsx';
import { useOncallServices } from './readings.ts';

interface Draft {
  serviceId: string;
  title: string;
  description: string;
}

const key = 'new incident';

/** An incident by hand: it pages like one that an alert opened, and the form says whom. */
export default function NewIncident() {
  const why = useWhy();
  const [draft, setDraft] = useState<Draft>(draftOf<Draft>(key) ?? { serviceId: '', title: '', description: '' });
  const services = useOncallServices();
  const preview = useQuery({
    key: ['preview', draft.serviceId],
    kinds: policyKinds,
    isOff: !draft.serviceId,
    ask: (client, signal) => client.oncall.previewServiceEscalation(draft.serviceId, {}, { signal }),
  });
  const set = (change: Partial<Draft>) => {
    const next = { ...draft, ...change };
    setDraft(next);
    keepDraft(key, next);
  };
  const crumbs = [{ to: '/oncall/incidents', label: 'Incidents' }];
  const list = services.data?.services;
  const submit = async () => {
    if (!draft.serviceId) throw new Error('Choose the service that is affected first');
    if (!draft.title.trim()) throw new Error('Give it a title first: it is what pages say');
    const { title, serviceId, description } = draft;
    const { id } = await attempt({
      what: `open the incident “${title}”`,
      done: `Opened “${title.trim()}”`,
      kinds: incidentKinds,
      work: () => api().oncall.openIncident({ serviceId, title, ...(description.trim() ? { description } : {}) }),
    });
    dropDraft(key);
    open(`/oncall/incidents/${id}`);
  };
  return (
    <Page
      title="Open an incident"
      crumbs={crumbs}
      code={[
        {
          operation: 'openIncident',
          input: { serviceId: draft.serviceId || '<service>', title: draft.title || '<title>', description: draft.description },
        },
      ]}
    >
      {!list ? (
        <Waiting reading={services} what="list of services" />
      ) : !list.length ? (
        <Empty
          title="No service yet"
          action={<Link to="/oncall/services">Make one first</Link>}
          command="quarterdeck oncall services create --name checkout"
        >
          An incident is of a service: the thing that people rely on.
        </Empty>
      ) : (
        <Form action="Open it and page" why={why('openIncident')} onSubmit={submit}>
          <SelectField
            label="Service"
            required
            value={draft.serviceId}
            onChange={(serviceId) => set({ serviceId })}
            {...(services.data?.isCut
              ? {
                  hint: `The newest ${list.length} services are listed; for another one, “Open an incident by hand” in Ctrl K takes its id`,
                }
              : {})}
            options={[{ value: '', label: 'Choose …' }, ...list.map(({ id, name }) => ({ value: id, label: name }))]}
          />
          <TextField
            label="Title"
            required
            value={draft.title}
            onChange={(title) => set({ title })}
            hint="What pages and mails say; at most 200 characters"
          />
          <TextField
            label="Description"
            lines={4}
            value={draft.description}
            onChange={(description) => set({ description })}
            hint="For the team"
          />
          {preview.data && <Paged steps={preview.data.steps} />}
        </Form>
      )}
    </Page>
  );
}

/** Whom the first pass of the policy pages, and what would keep a page away. */
function Paged({ steps }: { steps: OncallPreview['steps'] }) {
  const first = steps.filter(({ pass }) => pass === 0);
  if (!first.some(({ responder }) => responder))
    return <p class="note attention">It pages no one: the service has no policy, or there is a gap in its schedules.</p>;
  return (
    <div class="note">
      <p>It pages, one after the other until somebody acknowledges:</p>
      <ol>
        {first.map(({ at, step, target, responder, problem, pages }) => (
          <li key={step}>
            <Moment at={at} options={{ timeStyle: 'short' }} /> {responder?.label ?? target.label}
            {pages.length > 0 && ` by ${[...new Set(pages.map(({ channel }) => channel))].join(', ')}`}
            {[problem, ...pages.map((page) => page.problem)].filter(Boolean).map((sentence) => (
              <span key={sentence} class="attention">
                {' '}
                {sentence}
              </span>
            ))}
          </li>
        ))}
      </ol>
    </div>
  );
}
