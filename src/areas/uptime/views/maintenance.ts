import type { MaintenanceRow } from '../store/maintenance.ts';

export const maintenanceView = (m: MaintenanceRow) => ({
  id: m.id,
  serviceId: m.service_id,
  title: m.title,
  startsAt: m.starts_at,
  endsAt: m.ends_at,
  createdAt: m.created_at,
});
