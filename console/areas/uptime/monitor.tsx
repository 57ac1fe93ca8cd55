import { useState } from 'preact/hooks';
import type { UptimeMonitor } from '../../../sdk/browser.ts';
import { act, leave } from '../../data/act.ts';
import { api } from '../../data/api.ts';
import { open } from '../../data/place.ts';
import { useMay, useWhy } from '../../data/rights.ts';
import { useServices } from '../../data/uptime.ts';
import { Button } from '../../ui/button.tsx';
import { duration } from '../../ui/cell.tsx';
import { ConfirmLoss } from '../../ui/confirm-loss.tsx';
import { Value } from '../../ui/copy.tsx';
import { Link } from '../../ui/link.tsx';
import { Page } from '../../ui/page.tsx';
import { Sheet } from '../../ui/sheet.tsx';
import { State } from '../../ui/state.tsx';
import { Age, Moment } from '../../ui/time.tsx';
import { Waiting } from '../../ui/trouble.tsx';
import { conditionOf } from './condition.ts';
import { Failures, NewestFailure, Transitions } from './monitor-history.tsx';
import { Latency } from './monitor-latency.tsx';
import { useCatalog, useMonitor } from './readings.ts';
import { downWords, everyWords, labelOf, targetOf } from './words.ts';

/** One monitor: how it stands at each vantage, how it went, and what its checks said. */
export default function Monitor({ params: { id = '' } }: { params: Record<string, string> }) {
  const reading = useMonitor(id);
  const { data: catalog } = useCatalog();
  const { data: services } = useServices({ isOff: !useMay('listUptimeServices'), isSteady: true });
  const monitor = reading.data;
  if (!monitor)
    return (
      <Page title="Monitor" crumbs={crumbs}>
        <Waiting reading={reading} what="monitor" />
      </Page>
    );
  const { name, http, tcp, serviceId, conditions } = monitor;
  const service = services?.find((one) => one.id === serviceId);
  return (
    <Page
      title={name}
      crumbs={crumbs}
      aside={<Standing monitor={monitor} />}
      actions={<Actions monitor={monitor} />}
      code={[
        { operation: 'getMonitor', params: [id] },
        { operation: 'listMonitorFailures', params: [id] },
        { operation: 'listMonitorTransitions', params: [id] },
        { operation: 'getMonitorMetrics', params: [id], input: { window: '24h' } },
      ]}
    >
      {conditions?.map(({ kind, vantage, at, message }) => (
        <p key={`${kind} ${vantage}`} class="note attention">
          Checks of {labelOf(catalog?.vantages, vantage)} are left out: {message} (<Age at={at} long />)
        </p>
      ))}
      {monitor.enabled && monitor.state === 'down' && <NewestFailure id={id} vantages={catalog?.vantages} />}
      <Latency monitor={monitor} vantages={catalog?.vantages} />
      <h2>What its checks said</h2>
      <Failures id={id} vantages={catalog?.vantages} />
      <h2>Changes of its state</h2>
      <Transitions id={id} vantages={catalog?.vantages} />
      <h2>What it checks</h2>
      <Sheet
        rows={[
          ['Address', <Value key="address" text={targetOf(monitor)} />],
          ['Kind', http ? `${http.method ?? 'GET'} over HTTP` : tcp?.tls ? 'TCP with TLS' : monitor.kind],
          http && ['Expects', expectations(http)],
          ['Checked', `${everyWords(monitor.intervalSeconds)}; a check takes ${duration(monitor.timeoutMs / 1000)} at most`],
          ['Down when', downWords(monitor)],
          [
            'Service',
            serviceId ? (
              <>
                <Link to={`/services/${serviceId}`}>
                  <bdi>{service?.name ?? serviceId}</bdi>
                </Link>{' '}
                · <Link to={`/oncall/incidents?service=${serviceId}`}>incidents</Link>
              </>
            ) : (
              <span key="none">none: no page is sent when it is down</span>
            ),
          ],
          ['Made', <Moment key="made" at={monitor.createdAt} />],
          ['Changed', <Moment key="changed" at={monitor.updatedAt} />],
          ['Id', <Value key="id" text={id} />],
        ]}
      />
    </Page>
  );
}

const crumbs = [{ to: '/uptime/monitors', label: 'Monitors' }];

const Standing = ({ monitor: { enabled, state = 'pending', stateSince } }: { monitor: UptimeMonitor }) => (
  <>
    <State word={conditionOf({ enabled, state })} />
    {stateSince && enabled && (
      <>
        {' '}
        since <Moment at={stateSince} />
      </>
    )}
  </>
);

function Actions({ monitor: { id, name, enabled, serviceId } }: { monitor: UptimeMonitor }) {
  const asked = useWhy();
  // A grant on its service reaches the monitor too.
  const why = (operation: string) => asked(operation, id) && (serviceId === undefined ? asked(operation, id) : asked(operation, serviceId));
  const [isAsked, setAsked] = useState(false);
  const change = why('updateMonitor');
  const pause = () =>
    act({
      what: `${enabled ? 'pause' : 'resume'} ${name}`,
      done: enabled ? `${name} is paused: it is not checked, and sends no page` : `${name} is checked again`,
      kinds: ['uptime.monitor'],
      work: () => api().uptime.updateMonitor(id, { enabled: !enabled }),
    });
  const remove = async () => {
    const done = await act({
      what: `delete the monitor ${name}`,
      done: `${name} is deleted`,
      kinds: [],
      work: () => api().uptime.deleteMonitor(id),
    });
    if (done) leave('/uptime/monitors', ['uptime.monitor', 'uptime.service']);
    else setAsked(false);
  };
  return (
    <>
      <Button kind="primary" why={change} onPress={() => open(`/uptime/monitors/${id}/edit`)}>
        Edit
      </Button>
      <Button why={change} onPress={pause}>
        {enabled ? 'Pause' : 'Resume'}
      </Button>
      <Button kind="danger" why={why('deleteMonitor')} onPress={() => setAsked(true)}>
        Delete
      </Button>
      {isAsked && (
        <ConfirmLoss operation="deleteMonitor" name={name} action="Delete" onConfirm={remove} onClose={() => setAsked(false)}>
          <p>Its checks stop at once. What it counted stays in the availability of its service.</p>
        </ConfirmLoss>
      )}
    </>
  );
}

function expectations({ expectStatus, expectBodyContains, followRedirects }: NonNullable<UptimeMonitor['http']>): string {
  const parts = [
    `status ${expectStatus?.join(', ') ?? '2xx'}`,
    expectBodyContains && `a body with “${expectBodyContains}”`,
    followRedirects === false && 'no redirect is followed',
  ];
  return parts.filter(Boolean).join('; ');
}
