import type { IncidentState, ServiceState } from '../../rules/board.ts';

export const incidentLabels: Record<IncidentState, string> = {
  investigating: 'Investigating',
  identified: 'Identified',
  resolved: 'Resolved',
  postmortem: 'Post-mortem',
};

export const serviceLabels: Record<ServiceState, string> = {
  operational: 'Operational',
  incident: 'Incident',
  down: 'Down',
  maintenance: 'Maintenance',
};

export const maintenanceLabels = { scheduled: 'Planned', in_progress: 'In progress', completed: 'Completed' } as const;

/** 42 s, 42 min, 3 h 5 min, 2 days 4 h. */
export function formatDuration(seconds: number): string {
  const s = Math.max(0, Math.round(seconds));
  if (s < 60) return `${s} s`;
  const minutes = Math.round(s / 60);
  if (minutes < 60) return `${minutes} min`;
  const hours = Math.floor(minutes / 60);
  if (hours < 48) return minutes % 60 ? `${hours} h ${minutes % 60} min` : `${hours} h`;
  return hours % 24 ? `${Math.floor(hours / 24)} days ${hours % 24} h` : `${Math.floor(hours / 24)} days`;
}

export const durationBetween = (from: string, to: string): string => formatDuration((Date.parse(to) - Date.parse(from)) / 1000);

export interface Clock {
  /** 15 Nov 2026, 04:52 CET */
  moment(at: string): string;
  /** 16 Nov 2026, 08:10 – 11:10 CET */
  span(from: string, to: string): string;
  /** 15 November 2026 */
  day(at: string): string;
  /** November 2026, of `2026-11`. */
  month(text: string): string;
  /** 3 Oct, of `2026-10-03`, independent of the zone. */
  date(text: string): string;
}

/** Times in the page's zone. */
export function clockOf(timeZone: string): Clock {
  const format = (options: Intl.DateTimeFormatOptions) => new Intl.DateTimeFormat('en-GB', { timeZone, ...options });
  const moment = format({ day: 'numeric', month: 'short', year: 'numeric', hour: '2-digit', minute: '2-digit', timeZoneName: 'short' });
  const day = format({ day: 'numeric', month: 'long', year: 'numeric' });
  const month = format({ timeZone: 'UTC', month: 'long', year: 'numeric' });
  const date = format({ timeZone: 'UTC', day: 'numeric', month: 'short' });
  return {
    moment: (at) => moment.format(new Date(at)),
    span: (from, to) => moment.formatRange(new Date(from), new Date(to)),
    day: (at) => day.format(new Date(at)),
    month: (text) => month.format(new Date(`${text}-15T12:00:00Z`)),
    date: (text) => date.format(new Date(`${text}T12:00:00Z`)),
  };
}
