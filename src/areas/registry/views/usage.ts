import type { DayRow } from '../store/quota.ts';
import type { RegistryRow } from '../store/registries.ts';

/** The noted days, and today as it is now. */
export function usageView(r: RegistryRow, noted: readonly DayRow[], now: string) {
  const today = now.slice(0, 10);
  const days = [...noted.filter(({ day }) => day !== today), { day: today, used_bytes: r.used_bytes, quota_bytes: r.quota_bytes }];
  return {
    slug: r.slug,
    usedBytes: r.used_bytes,
    storageQuotaBytes: r.quota_bytes,
    days: days.map(({ day, used_bytes, quota_bytes }) => ({
      date: day,
      usedBytes: used_bytes,
      storageQuotaBytes: quota_bytes,
      usedPct: quota_bytes > 0 ? Math.round((1_000 * used_bytes) / quota_bytes) / 10 : 0,
    })),
  };
}
