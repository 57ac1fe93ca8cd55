import type { Observation } from '../rules/dns-defects.ts';
import { type ExpectedRecord, recordsOf } from '../rules/dns-records.ts';
import type { DomainRow } from '../store/domains.ts';

export const domainView = (row: DomainRow, mailHost: string) => ({
  id: row.id,
  name: row.name,
  sendState: row.send_state,
  receiveState: row.receive_state,
  createdAt: row.created_at,
  dnsRecords: recordsOf(row, mailHost).map(recordView),
});

const recordView = ({ capability, type, name, value, priority }: ExpectedRecord) => ({
  capability,
  type,
  name,
  value,
  ...(priority === undefined ? {} : { priority }),
});

export const observationView = ({ record, outcome, observed, observedAll, reason, ttl, resolver }: Observation, checkedAt: string) => {
  const { value: expected, ...shown } = recordView(record);
  return {
    ...shown,
    expected,
    required: record.required,
    outcome,
    ...(observed === undefined ? {} : { observed }),
    ...(observedAll.length ? { observedAll } : {}),
    ...(reason === undefined ? {} : { reason }),
    ...(ttl === undefined ? {} : { ttl }),
    resolver,
    checkedAt,
  };
};
