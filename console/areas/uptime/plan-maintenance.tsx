import { useState } from 'preact/hooks';
import { attempt } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { now, serverNow } from '../../data/clock.ts';
import { draftOf, dropDraft, keepDraft } from '../../data/drafts.ts';
import { open, query } from '../../data/place.ts';
import { useWhy } from '../../data/rights.ts';
import { useServices } from '../../data/uptime.ts';
import { OneLine } from '../../ui/as-code.tsx';
import { Empty } from '../../ui/empty.tsx';
import { SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';

interface Plan {
  serviceId: string;
  title: string;
  /** Empty: now. In the person's zone. */
  startsAt: string;
  minutes: string;
  /** Where `minutes` is empty. */
  endsAt: string;
}

const draft = 'maintenance new';
const lengths = [
  { value: '15', label: '15 minutes' },
  { value: '30', label: '30 minutes' },
  { value: '60', label: '1 hour' },
  { value: '120', label: '2 hours' },
  { value: '240', label: '4 hours' },
  { value: '480', label: '8 hours' },
  { value: '1440', label: '1 day' },
  { value: '', label: 'Until a moment …' },
];

/** Plans maintenance of a service, from now on or later. */
export default function PlanMaintenance() {
  const why = useWhy();
  const services = useServices();
  const [plan, setPlan] = useState<Plan>(() => ({
    serviceId: query.value.get('service') ?? '',
    title: '',
    startsAt: '',
    minutes: '60',
    endsAt: '',
    ...draftOf<Partial<Plan>>(draft),
  }));
  const [wrong, setWrong] = useState<{ field: keyof Plan; problem: string }>();
  const set = (changed: Partial<Plan>) => {
    const next = { ...plan, ...changed };
    setPlan(next);
    setWrong(undefined);
    keepDraft(draft, next);
  };
  const list = services.data;
  const { serviceId } = plan;
  const times = timesOf(plan, now.value);
  const submit = async () => {
    const refuse = (field: keyof Plan, problem: string): never => {
      setWrong({ field, problem });
      throw new Error(problem);
    };
    if (!serviceId) refuse('serviceId', 'Choose the service that is worked on');
    if (!plan.title.trim()) refuse('title', 'Say what is done: status pages show it');
    const { startsAt, endsAt } = timesOf(plan, serverNow());
    if (!endsAt) return refuse('endsAt', 'Say until when');
    await attempt({
      what: `plan ${plan.title}`,
      done: `${plan.title} is planned`,
      kinds: ['uptime.service', 'uptime.monitor'],
      work: () => api().uptime.createMaintenance({ serviceId, title: plan.title.trim(), ...(startsAt ? { startsAt } : {}), endsAt }),
    });
    dropDraft(draft);
    open('/uptime/maintenance');
  };
  const errorOf = (field: keyof Plan) => (wrong?.field === field ? wrong.problem : undefined);
  return (
    <Page title="Plan maintenance" crumbs={[{ to: '/uptime/maintenance', label: 'Maintenance' }]}>
      {!list ? (
        <Waiting reading={services} what="service" />
      ) : !list.length ? (
        <Empty
          title="No service yet"
          action={<Link to="/uptime/services">Make one first</Link>}
          command="quarterdeck uptime services create --name shop"
        >
          Maintenance is planned for a service: its monitors are checked meanwhile, and no one is paged.
        </Empty>
      ) : (
        <>
          <Form
            onSubmit={submit}
            action="Plan it"
            why={why('createMaintenance', serviceId || undefined)}
            onCancel={() => {
              dropDraft(draft);
              open('/uptime/maintenance');
            }}
          >
            <SelectField
              label="Service"
              value={serviceId}
              onChange={(next) => set({ serviceId: next })}
              error={errorOf('serviceId')}
              options={[{ value: '', label: 'Choose …' }, ...list.map(({ id, name }) => ({ value: id, label: name }))]}
            />
            <TextField
              label="What is done"
              value={plan.title}
              onChange={(title) => set({ title })}
              error={errorOf('title')}
              required
              isFirst
              placeholder="New disks"
              hint="Status pages that show the service announce it"
            />
            <TextField
              label="Begins"
              type="datetime-local"
              value={plan.startsAt}
              onChange={(startsAt) => set({ startsAt })}
              hint="Empty: now. Times are those of this browser"
            />
            <SelectField label="Lasts" value={plan.minutes} onChange={(minutes) => set({ minutes })} options={lengths} />
            {plan.minutes === '' && (
              <TextField
                label="Ends"
                type="datetime-local"
                value={plan.endsAt}
                onChange={(endsAt) => set({ endsAt })}
                error={errorOf('endsAt')}
                required
                hint="At most 31 days after it begins"
              />
            )}
            {times.endsAt && (
              <p class="note">
                {times.startsAt ? (
                  <>
                    From <Moment at={times.startsAt} />
                  </>
                ) : (
                  'From now on'
                )}{' '}
                to <Moment at={times.endsAt} />: its monitors are checked, no page is sent, and nothing counts in its availability.
              </p>
            )}
          </Form>
          <details class="below">
            <summary>As code</summary>
            <OneLine
              line={{
                operation: 'createMaintenance',
                input: {
                  serviceId: serviceId || '<service>',
                  title: plan.title || '<title>',
                  startsAt: times.startsAt,
                  endsAt: times.endsAt ?? '<end>',
                },
              }}
            />
          </details>
        </>
      )}
    </Page>
  );
}

/** As the API takes them; absent where nothing sensible is typed yet. */
function timesOf({ startsAt, minutes, endsAt }: Plan, at: number): { startsAt: string | undefined; endsAt: string | undefined } {
  const starts = startsAt ? Date.parse(startsAt) : at;
  const ends = minutes ? starts + Number(minutes) * 60_000 : Date.parse(endsAt);
  return { startsAt: startsAt ? isoOf(starts) : undefined, endsAt: isoOf(ends) };
}

const isoOf = (ms: number): string | undefined => (Number.isNaN(ms) ? undefined : new Date(ms).toISOString());
