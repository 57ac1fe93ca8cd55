import type { Field } from '../sdk/commands.ts';

const milliseconds: Record<string, number> = { ms: 1, s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000, w: 604_800_000 };
const bytes: Record<string, number> = {
  B: 1,
  kB: 1e3,
  KB: 1e3,
  MB: 1e6,
  GB: 1e9,
  TB: 1e12,
  KiB: 2 ** 10,
  MiB: 2 ** 20,
  GiB: 2 ** 30,
  TiB: 2 ** 40,
};
const weekdays = ['sun', 'mon', 'tue', 'wed', 'thu', 'fri', 'sat'];

/** What a field counts, by the end of its name: the unit's table and how much one is. */
const counted: [RegExp, Record<string, number>, number][] = [
  [/(?:Seconds|^expiresIn)$/, milliseconds, milliseconds['s']!],
  [/Ms$/, milliseconds, 1],
  [/Days$/, milliseconds, milliseconds['d']!],
  [/Bytes$/, bytes, 1],
  [/GiB$/, bytes, bytes['GiB']!],
];

/** `5m`, `10GiB`, `mon` as the number that the field takes; undefined: not written with a unit. */
export function withUnit({ name }: Pick<Field, 'name'>, text: string): number | undefined {
  if (name === 'dow') {
    const day = weekdays.indexOf(text.slice(0, 3).toLowerCase());
    return day >= 0 && /^[a-z]{3,9}$/i.test(text) ? day : undefined;
  }
  const [, units, one] = counted.find(([end]) => end.test(name)) ?? [];
  const [, amount, unit] = /^(\d{1,15}(?:\.\d{1,6})?) ?([A-Za-z]{1,3})$/.exec(text) ?? [];
  const factor = units && Object.hasOwn(units, unit ?? '') ? units[unit!] : undefined;
  return factor === undefined || one === undefined ? undefined : (Number(amount) * factor) / one;
}

/** How a field with a unit may be written, for help and errors. */
export const unitExample = ({ name }: Pick<Field, 'name'>): string | undefined =>
  counted.find(([end]) => end.test(name))?.[1] === milliseconds ? '5m' : counted.some(([end]) => end.test(name)) ? '10GiB' : undefined;

/** A duration of our own options, in milliseconds. */
export function durationMs(text: string): number | undefined {
  return /^\d{1,9}$/.test(text) ? Number(text) * 1000 : withUnit({ name: 'optionMs' }, text);
}

/** `72s`, `5m`, `3h`: how old something is. */
export function shortAge(ms: number): string {
  const seconds = Math.floor(ms / 1000);
  if (seconds < 120) return `${seconds}s`;
  return seconds < 7200 ? `${Math.floor(seconds / 60)}m` : `${Math.floor(seconds / 3600)}h`;
}
