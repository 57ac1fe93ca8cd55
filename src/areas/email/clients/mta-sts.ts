import { LRUCache } from 'lru-cache';
import { boundedTo } from '../../../kernel/bounded-map.ts';
import type { Dns } from '../../../kernel/dns/index.ts';
import type { Guard, TlsOptions } from '../../../kernel/guard/index.ts';
import type { Logger } from '../../../kernel/log.ts';
import { readStsId, readStsPolicy, type StsPolicy } from '../rules/mta-sts.ts';
import { isSilent } from './mx.ts';

export interface StsNeeds {
  dns: Dns;
  guard: Guard;
  log: Logger;
  now: () => number;
  /** Where policies are served: 443. */
  port?: number;
  tls?: TlsOptions;
}

/** What a domain enforces. `isKnown` is false while that could not be found out: then it counts as nothing, but not for long, nor for everybody. */
export interface Enforced {
  policy: StsPolicy | undefined;
  isKnown: boolean;
  /** Whoever asks has used up their questions. Their mail waits: that is no reason to send it unprotected. */
  isCrowded?: true;
}

interface Remembered {
  id: string;
  policy: StsPolicy;
  until: number;
}

/** RFC 8461 3.3: a policy that cannot be fetched is not asked for again for a while. */
const retryMs = 5 * 60_000;

/**
 * The policy that a domain has published, if it enforces one. It is remembered for as long as it says, so that whoever takes the DNS or the
 * policy's server away later gains nothing; a domain whose policy was never read is sent to as if it had none.
 */
export function makeMtaSts({ dns, guard, log, now, port = 443, tls }: StsNeeds): (domain: string) => Promise<Enforced> {
  const policies = new LRUCache<string, Remembered>(boundedTo(10_000));
  /** Until when. It is asked for only once the DNS has said that there is one, so whoever failed, the domain is to blame. */
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

  const refresh = async (domain: string, id: string, old: StsPolicy | undefined) => {
    try {
      const policy = await fetchPolicy(domain);
      if (policy === undefined) throw new Error('it is not a policy');
      policies.set(domain, { id, policy, until: now() + 1000 * policy.maxAgeSeconds });
      return policy;
    } catch (error) {
      failed.set(domain, now() + retryMs);
      log.info({ domain, why: (error as Error).message }, 'an MTA-STS policy could not be read');
      return old;
    }
  };

  return async (domain) => {
    const remembered = policies.get(domain);
    const old = remembered !== undefined && remembered.until > now() ? remembered : undefined;
    const answer = await dns.lookup(`_mta-sts.${domain}`, 'TXT');
    const id = readStsId(answer.records.map(({ data }) => String(data)));
    const isNews = id !== undefined && id !== old?.id;
    const isToBeRead = isNews && (failed.get(domain) ?? 0) <= now();
    const policy = isToBeRead ? await refresh(domain, id, old?.policy) : old?.policy;
    const isKnown = policy !== undefined || !(isNews || isSilent(answer));
    const isCrowded = policy === undefined && answer.isCrowded;
    return { policy: policy?.mode === 'enforce' ? policy : undefined, isKnown, ...(isCrowded && { isCrowded }) };
  };
}
