import type { State } from './down.ts';

/** What decides whether on-call has an alert for a monitor. */
export interface AlertSituation {
  state: State;
  /** While the monitor flaps, its recovery is not sent to on-call: see rules/flap.ts. */
  flapping: boolean;
  serviceId: string | null;
  /** Planned work on the service is under way. */
  maintained: boolean;
  failingSince: string | null;
  /** The alert that on-call has, or will have once all queued notifications are delivered. */
  firing: { serviceId: string; since: string } | undefined;
  /** The start of the newest alert that was ever queued for it. */
  lastFiredAt: string | null;
}

export interface AlertSteps {
  resolve?: { serviceId: string; since: string; because?: string };
  fire?: { serviceId: string; since: string };
}

/** What on-call must be sent in this situation. `because`: why an alert ends whose monitor did not come up. */
export function alertSteps(s: AlertSituation, now: string, because: string): AlertSteps {
  const wanted = s.state === 'down' && s.serviceId !== null && !s.maintained;
  const { firing } = s;
  if (firing && wanted && firing.serviceId === s.serviceId) return {};
  if (firing && s.state === 'up' && s.flapping && firing.serviceId === s.serviceId) return {};
  const steps: AlertSteps = {};
  if (firing)
    steps.resolve = {
      ...firing,
      ...(firing.serviceId !== s.serviceId
        ? { because: s.serviceId === null ? 'the monitor was detached from the service' : 'the monitor was moved to another service' }
        : s.state === 'up'
          ? {}
          : { because: s.state === 'down' ? 'planned maintenance began' : because }),
    };
  // On-call ignores an occurrence it has seen before, so an outage that goes on is sent as one that begins now.
  if (wanted)
    steps.fire = {
      serviceId: s.serviceId!,
      since: s.failingSince !== null && (s.lastFiredAt ?? '') < s.failingSince ? s.failingSince : now,
    };
  return steps;
}
