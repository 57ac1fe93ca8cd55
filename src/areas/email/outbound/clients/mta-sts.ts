import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../../kernel/bounded-map.ts';
import type { Dns } from '../../../../kernel/dns/index.ts';
import type { Guard, TlsOptions } from '../../../../kernel/guard/index.ts';
import type { Logger } from '../../../../kernel/log.ts';
import { readStsId, readStsPolicy, type StsPolicy } from '../rules/mta-sts.ts';
import { isUnanswered } from './mx.ts';

export interface MtaStsOptions {
  dns: Dns;
  guard: Guard;
  log: Logger;
  now: () => number;
  /** HTTPS port of policies; tests change it. */
  port?: number;
  tls?: TlsOptions;
}

/** The policy that a domain enforces. `isKnown` is false after a failed lookup: mail goes without a policy, and the result is cached briefly and for this organization only. */
export interface EnforcedPolicy {
  policy: StsPolicy | undefined;
  isKnown: boolean;
  /** The organization has used up its DNS questions. Its mail waits rather than going out unprotected. */
  isCrowded?: true;
}

interface CachedPolicy {
  id: string;
  policy: StsPolicy;
  until: number;
}

/** RFC 8461 3.3: pause between fetches of a policy that failed. */
const retryMs = 5 * 60_000;

/**
 * Finds the policy that a domain enforces. Policies are cached for their max_age, so an attacker who blocks the DNS or the policy server later
 * gains nothing. A domain whose policy was never read is treated as having none.
 */
export function makeMtaSts({ dns, guard, log, now, port = 443, tls }: MtaStsOptions): (domain: string) => Promise<EnforcedPolicy> {
  const policies = new LRUCache<string, CachedPolicy>(boundedTo(10_000));
  /** Domain to retry time. A fetch happens only after the DNS announced a policy, so a failure is the domain's fault for every tenant. */
  const failed = new LRUCache<string, number>(boundedTo(10_000));

  const fetchPolicy = async (domain: string): Promise<StsPolicy | undefined> => {
    const url = `https://mta-sts.${domain}${port === 443 ? '' : `:${port}`}/.well-known/mta-sts.txt`;
    const response = await guard.fetch('mx', url, {
      timeouts: { connectMs: 5_000, headersMs: 5_000, totalMs: 10_000 },
      maxBodyBytes: 65_536,
      ...(tls === undefined ? {} : { tls }),
    });
    if (response.status !== 200) {
      response.cancel();
      throw new Error(`the server of the policy answered ${response.status}`);
    }
    return readStsPolicy(await response.text());
  };

  const refresh = async (domain: string, id: string, cached: StsPolicy | undefined) => {
    try {
      const policy = await fetchPolicy(domain);
      if (policy === undefined) throw new Error('it is not a policy');
      policies.set(domain, { id, policy, until: now() + 1000 * policy.maxAgeSeconds });
      return policy;
    } catch (error) {
      failed.set(domain, now() + retryMs);
      log.info({ domain, why: (error as Error).message }, 'an MTA-STS policy could not be read');
      return cached;
    }
  };

  return async (domain) => {
    const entry = policies.get(domain);
    const cached = entry !== undefined && entry.until > now() ? entry : undefined;
    const answer = await dns.lookup(`_mta-sts.${domain}`, 'TXT');
    const id = readStsId(answer.records.map(({ data }) => String(data)));
    const isNewId = id !== undefined && id !== cached?.id;
    const mayFetch = isNewId && (failed.get(domain) ?? 0) <= now();
    const policy = mayFetch ? await refresh(domain, id, cached?.policy) : cached?.policy;
    const isKnown = policy !== undefined || !(isNewId || isUnanswered(answer));
    const isCrowded = policy === undefined && answer.isCrowded;
    return { policy: policy?.mode === 'enforce' ? policy : undefined, isKnown, ...(isCrowded && { isCrowded }) };
  };
}
