import { useState } from 'preact/hooks';
import type { UptimeInterval, UptimeVantage } from '../../../sdk/browser.ts';
import { attempt } from '../../data/act.ts';
import type { Line } from '../../data/as-code.ts';
import { draftOf, dropDraft, keepDraft } from '../../data/drafts.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { useServices } from '../../data/uptime.ts';
import { OneLine } from '../../ui/as-code.tsx';
import { Button } from '../../ui/button.tsx';
import { CheckField, SelectField, TextField } from '../../ui/fields.tsx';
import { Form } from '../../ui/form.tsx';
import { Link } from '../../ui/link.tsx';
import { changesOf, createInput, FieldProblem, type MonitorValues, majorityOf, type PartProps, secretFields } from './monitor-values.ts';
import { NameService } from './name-service.tsx';
import { HttpFields, TcpFields } from './target-fields.tsx';
import { Trial } from './trial.tsx';
import { downWords, plural } from './words.ts';

interface MonitorFormProps {
  /** How the form begins. */
  start: MonitorValues;
  /** The monitor that is changed; absent: it makes a new one. */
  id?: string;
  catalog: { intervals: readonly UptimeInterval[]; vantages: readonly UptimeVantage[] };
  /** Sends it. */
  save(input: Record<string, unknown>): Promise<{ id: string }>;
  onSaved(id: string): void;
  onCancel(): void;
}

export function MonitorForm({ start, id, catalog, save, onSaved, onCancel }: MonitorFormProps) {
  const why = useWhy();
  const draft = `monitor ${id ?? 'new'}`;
  const [values, setValues] = useState<MonitorValues>(() => ({ ...start, ...draftOf<Partial<MonitorValues>>(draft) }));
  const [wrong, setWrong] = useState<{ field: string; problem: string }>();
  const set = (changed: Partial<MonitorValues>) => {
    const next = { ...values, ...changed };
    setValues(next);
    setWrong(undefined);
    keepDraft(draft, Object.fromEntries(Object.entries(next).filter(([name]) => !(secretFields as readonly string[]).includes(name))));
  };
  const noted = <T,>(work: () => T): T => {
    try {
      return work();
    } catch (error) {
      if (error instanceof FieldProblem) setWrong({ field: error.field, problem: error.message });
      throw error;
    }
  };
  const submit = async () => {
    const input = noted(() => (id ? changesOf(start, values) : createInput(values)));
    const saved = await attempt({
      what: id ? `change ${start.name}` : `create the monitor ${values.name}`,
      done: id ? 'Saved' : `${values.name} is created; its first checks come within the interval`,
      kinds: ['uptime.monitor'],
      work: () => save(input),
    });
    dropDraft(draft);
    onSaved(saved.id);
  };
  const errorOf = (field: keyof MonitorValues) => (wrong?.field === field ? wrong.problem : undefined);
  const common = { values, set, errorOf };
  return (
    <>
      <Form
        onSubmit={submit}
        action={id ? 'Save' : 'Create the monitor'}
        why={why(id ? 'updateMonitor' : 'createMonitor')}
        onCancel={() => {
          dropDraft(draft);
          onCancel();
        }}
      >
        <TextField
          label="Name"
          value={values.name}
          onChange={(name) => set({ name })}
          error={errorOf('name')}
          required
          isFirst={!id}
          hint="What people call it: on pages, in alerts, in metrics"
        />
        {!id && (
          <SelectField
            label="What it checks"
            value={values.kind}
            onChange={(kind) => set({ kind: kind as 'http' | 'tcp' })}
            options={[
              { value: 'http', label: 'A web page or an API, over HTTP' },
              { value: 'tcp', label: 'A port, over TCP' },
            ]}
            hint="It cannot be changed later"
          />
        )}
        {values.kind === 'http' ? (
          <HttpFields {...common} isEdit={id !== undefined} />
        ) : (
          <TcpFields {...common} isEdit={id !== undefined} />
        )}
        <Trial values={values} monitorId={id} noted={noted} />
        <When {...common} catalog={catalog} />
        <ServiceField {...common} />
        {id && <CheckField label="Switched on" value={values.enabled} onChange={(enabled) => set({ enabled })} />}
      </Form>
      <details class="below">
        <summary>As code</summary>
        <OneLine line={lineOf(start, values, id)} />
      </details>
    </>
  );
}

/** How often, from where, and when it counts as down. */
function When({ values, set, errorOf, catalog }: PartProps & Pick<MonitorFormProps, 'catalog'>) {
  const { vantages, confirmations, quorum } = values;
  const count = Math.max(1, vantages.length);
  const intervals = catalog.intervals.map(({ seconds, label }) => ({ value: String(seconds), label }));
  const isOffered = intervals.some(({ value }) => value === values.intervalSeconds);
  const silent = catalog.vantages.filter(({ id, available }) => !available && !vantages.includes(id));
  const fails = Number(quorum) > count ? String(count) : quorum;
  return (
    <>
      <SelectField
        label="Interval"
        value={values.intervalSeconds}
        onChange={(intervalSeconds) => set({ intervalSeconds })}
        options={
          isOffered
            ? intervals
            : [{ value: values.intervalSeconds, label: `${values.intervalSeconds} s (no longer offered)` }, ...intervals]
        }
      />
      <fieldset>
        <legend>Vantages</legend>
        <p class="hint">The places from which it is checked, 10 at most. One alone cannot tell its own network from an outage.</p>
        {catalog.vantages
          .filter(({ id, available }) => available || vantages.includes(id))
          .map(({ id, label, available }) => (
            <CheckField
              key={id}
              label={label === id ? id : `${label} (${id})`}
              value={vantages.includes(id)}
              onChange={(isOn) => set({ vantages: isOn ? [...vantages, id] : vantages.filter((one) => one !== id) })}
              {...(available ? {} : { hint: 'does not report now' })}
            />
          ))}
        {silent.length > 0 && (
          <p class="hint">
            Cannot be chosen, for no check comes from there now: {silent.map(({ label }) => label).join(', ')}.{' '}
            <Link to="/uptime/vantages">Vantages</Link>
          </p>
        )}
        {errorOf('vantages') && <p class="hint bad">{errorOf('vantages')}</p>}
      </fieldset>
      <fieldset>
        <legend>Down when</legend>
        <SelectField
          label="Failing checks in a row"
          value={confirmations}
          onChange={(next) => set({ confirmations: next })}
          options={upTo(10).map((n) => ({ value: String(n), label: plural(n, 'check') }))}
        />
        {count > 1 && (
          <SelectField
            label="At how many vantages"
            value={fails}
            onChange={(next) => set({ quorum: next })}
            options={[
              { value: '', label: `most of them (${majorityOf(count)} of ${count})` },
              ...upTo(count).map((n) => ({ value: String(n), label: `${n} of ${count}` })),
            ]}
          />
        )}
        <TextField
          label="Time limit of a check, in seconds"
          type="number"
          value={values.timeoutSeconds}
          onChange={(timeoutSeconds) => set({ timeoutSeconds })}
          error={errorOf('timeoutSeconds')}
          hint="0.5 to 30, and below the interval: name lookup and body included"
        />
        <p class="hint">
          It is down when{' '}
          {downWords({
            downCondition: { confirmations: Number(confirmations), quorum: fails ? Number(fails) : majorityOf(count) },
            vantages: vantages.length ? [...vantages] : ['local'],
          })}
          . After the first failure it is checked sooner.
        </p>
      </fieldset>
    </>
  );
}

function ServiceField({ values, set }: PartProps) {
  const why = useWhy();
  const { data: services } = useServices({ isOff: !useMay('listUptimeServices') });
  const [isNaming, setNaming] = useState(false);
  const known = services ?? [];
  const isKnown = !values.serviceId || known.some(({ id }) => id === values.serviceId);
  return (
    <>
      <SelectField
        label="Service"
        value={values.serviceId}
        onChange={(serviceId) => set({ serviceId })}
        options={[
          { value: '', label: 'None: no page is sent' },
          ...(isKnown ? [] : [{ value: values.serviceId, label: values.serviceId }]),
          ...known.map(({ id, name }) => ({ value: id, label: name })),
        ]}
        hint="When the monitor is down, an alert of its service fires, and on-call is paged"
      />
      <p>
        <Button small why={why('createUptimeService')} onPress={() => setNaming(true)}>
          New service
        </Button>
      </p>
      {isNaming && (
        <NameService
          onClose={() => setNaming(false)}
          onDone={(serviceId) => {
            setNaming(false);
            set({ serviceId });
          }}
        />
      )}
    </>
  );
}

const upTo = (count: number): number[] => Array.from({ length: count }, (_, at) => at + 1);

/** The same as a command; half of a form shows what there is. */
function lineOf(start: MonitorValues, values: MonitorValues, id: string | undefined): Line {
  try {
    return id
      ? { operation: 'updateMonitor', params: [id], input: changesOf(start, values) }
      : { operation: 'createMonitor', input: createInput(values) };
  } catch {
    if (id) return { operation: 'updateMonitor', params: [id] };
    const { name, url, host, port, vantages } = values;
    const known = { name: name || '<name>', url: url || 'https://…', host: host || '<host>', port: port || '443' };
    const whole = { ...values, ...known, vantages: vantages.length ? vantages : ['local'], headers: '', timeoutSeconds: '10' };
    return { operation: 'createMonitor', input: createInput(whole) };
  }
}
