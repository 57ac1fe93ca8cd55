import type { App } from '../../../../kernel/app.ts';
import type { DnsAnswer } from '../../../../kernel/dns/index.ts';
import { type Observation, observeRecord } from '../rules/dns-defects.ts';
import { type DomainKeys, type ExpectedRecord, recordsOf } from '../rules/dns-records.ts';
import { whyNotMailHost } from '../rules/mail-host.ts';
import { mailHostOf } from './mail-host.ts';

const lookupTimeoutMs = 10_000;

/** Looks up each record of a domain at the authoritative servers, all in parallel, for at most ten seconds. */
export async function lookUpRecords(app: Pick<App, 'config' | 'publicUrl' | 'dns'>, domain: DomainKeys): Promise<Observation[]> {
  const host = mailHostOf(app);
  const why = whyNotMailHost(host);
  const signal = AbortSignal.timeout(lookupTimeoutMs);
  const lookUp = async (record: ExpectedRecord): Promise<Observation> => {
    // Records that name this server cannot be published while it has no public name.
    const isUnnamed = why !== undefined && (record.type === 'MX' || record.kind === 'spf');
    if (isUnnamed) return { record, outcome: 'error', reason: why, observedAll: [], resolver: '' };
    return observeRecord(record, await app.dns.lookupAtSource(record.name, record.type, { signal }).catch(() => timeoutAnswer));
  };
  return Promise.all(recordsOf(domain, host).map(lookUp));
}

const timeoutAnswer: DnsAnswer = { outcome: 'timeout', records: [], aliases: [], ttl: 0, authentic: false, server: '' };
