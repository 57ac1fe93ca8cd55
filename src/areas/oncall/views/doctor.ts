import type { Diagnosis } from '../rules/doctor.ts';
import type { ReportRow } from '../store/doctor.ts';

export const diagnosisView = ({ service, by, problems }: { service: { id: string; name: string } } & Diagnosis) => ({
  serviceId: service.id,
  name: service.name,
  paged: Boolean(by),
  ...(by ? { by } : {}),
  problems,
});

export const reportView = ({ examined_at, services, unpaged, told_at, not_told }: ReportRow) => ({
  examinedAt: examined_at,
  services,
  unpaged,
  ...(told_at ? { toldAt: told_at } : {}),
  ...(not_told ? { notTold: not_told } : {}),
});
