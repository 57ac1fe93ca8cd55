import type { SecureContext } from 'node:tls';
import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../../../kernel/bounded-map.ts';
import { TenantThrottled } from '../../../../../kernel/fairness/index.ts';
import { type Guard, GuardRefusal } from '../../../../../kernel/guard/index.ts';
import { byPreference, type MxHost } from '../../clients/mx.ts';
import type { Timeouts } from '../../clients/smtp/connection.ts';
import { SmtpFailure } from '../../clients/smtp/failure.ts';
import { openSession, type TlsPlan } from '../../clients/smtp/open-session.ts';
import type { Session } from '../../clients/smtp/session.ts';
import type { Clock } from './clock.ts';

/** What every connection to a mail server needs. */
export interface ConnectOptions {
  guard: Guard;
  port: number;
  hostname: string;
  timeouts: Timeouts;
  clock: Clock;
  random: () => number;
  /** Certificate authorities to trust instead of the public ones. */
  context?: SecureContext;
  /** Hosts whose TLS handshake failed, and until when they get mail in the clear. */
  brokenTls: LRUCache<string, number>;
}

export const makeBrokenTlsCache = () => new LRUCache<string, number>(boundedTo(10_000));

const brokenTlsMs = 6 * 3_600_000;
const maxHostsTried = 5;
/** An unreachable host is tried last for this long: its neighbours answer, and each failed try costs half a minute. */
const hostCooldownMs = 5 * 60_000;

/** The TLS requirements for one host; a string is the reason not to connect at all. */
export type PlanFor = (host: string) => Promise<TlsPlan | string>;

/** Opens a session with the most preferred of a site's hosts that answers. */
export function makeSessionOpener(
  options: ConnectOptions,
  hosts: readonly MxHost[],
  planFor: PlanFor,
): (signal: AbortSignal) => Promise<Session> {
  const coolingDown = new Map<string, number>();
  const isCoolingDown = ({ name }: MxHost) => (coolingDown.get(name) ?? 0) > options.clock.now();
  return async (signal) => {
    const ordered = byPreference(hosts, options.random);
    const tried = [...ordered.filter((host) => !isCoolingDown(host)), ...ordered.filter(isCoolingDown)].slice(0, maxHostsTried);
    let refusal: GuardRefusal | undefined;
    let failure: unknown;
    for (const { name } of tried) {
      try {
        const session = await openHost(options, name, await planFor(name), signal);
        coolingDown.delete(name);
        return session;
      } catch (error) {
        // Neither says anything about the host.
        if (signal.aborted || error instanceof TenantThrottled) throw error;
        if (error instanceof GuardRefusal) refusal ??= error;
        else failure ??= error;
        coolingDown.set(name, options.clock.now() + hostCooldownMs);
      }
    }
    throw failure ?? refusal;
  };
}

async function openHost(options: ConnectOptions, host: string, plan: TlsPlan | string, signal: AbortSignal): Promise<Session> {
  if (typeof plan === 'string') throw new SmtpFailure('starttls', 'tls', plan);
  const { guard, port, hostname, timeouts, clock, brokenTls, context } = options;
  const open = (tls: TlsPlan) =>
    openSession({
      guard,
      use: 'mx',
      host,
      port,
      hostname,
      timeouts,
      signal,
      tls: { ...(context === undefined ? {} : { context }), ...tls },
    });
  const isBroken = (brokenTls.get(host) ?? 0) > clock.now();
  if (plan.when !== 'offered' || isBroken) return open(plan.when === 'offered' ? { ...plan, when: 'never' } : plan);
  try {
    return await open(plan);
  } catch (error) {
    // RFC 7435: where no policy requires TLS, a failed handshake is no reason to hold mail back.
    if (!(error instanceof SmtpFailure) || error.kind !== 'tls' || signal.aborted) throw error;
    brokenTls.set(host, clock.now() + brokenTlsMs);
    return open({ ...plan, when: 'never' });
  }
}
