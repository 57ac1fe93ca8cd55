import type { CertificateStatus } from '../../certificates/index.ts';
import { recordsOf, tellRecord } from '../rules/domain-records.ts';
import type { DomainRow } from '../store/domains.ts';

/** What is told of a page's domain beside its row. */
export interface DomainFacts {
  domain: DomainRow;
  /** The host that it has to lead to. */
  target: string;
  certificate: CertificateStatus | undefined;
  /** Whether this installation orders certificates at all, and presents them itself. */
  isOrdering: boolean;
}

export function domainView({ domain, target, certificate, isOrdering }: DomainFacts) {
  const { org_id: org, name, is_contested: isContested, observed, state, checked_at } = domain;
  return {
    state,
    records: recordsOf({ org, name, isContested }, target).map((record) => {
      const finding = observed?.find(({ type }) => type === record.type);
      return {
        ...record,
        ...(finding ? { outcome: finding.outcome } : {}),
        ...(finding?.observed === undefined ? {} : { observed: finding.observed }),
        sentence: tellRecord(record, finding),
      };
    }),
    certificate: certificateView(state, certificate, isOrdering),
    ...(checked_at === null ? {} : { checkedAt: checked_at }),
  };
}

function certificateView(state: DomainRow['state'], certificate: CertificateStatus | undefined, isOrdering: boolean) {
  if (!isOrdering)
    return { state: 'none' as const, sentence: 'this server orders no certificates; its operator, or a proxy in front, provides one' };
  if (certificate) return certificate;
  const sentence = state === 'verified' ? 'it is ordered in a moment' : 'it is ordered once the records are found';
  return { state: 'none' as const, sentence };
}
