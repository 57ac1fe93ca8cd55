import { styleText } from 'node:util';
import { printable } from '../printable.ts';

/** The numbers by which the server writes levels. */
export const levels = { trace: 10, debug: 20, info: 30, warn: 40, error: 50, fatal: 60 } as const;
const names = new Map<unknown, string>(Object.entries(levels).map(([name, number]) => [number, name]));
const colours = { warn: 'yellow', error: 'red', fatal: 'red' } as const;

export interface LogFilter {
  minLevel: number;
  /** The names of one organization: its slug, its id. */
  orgs?: string[];
  /** Only lines from this moment on. */
  from?: string;
}

/** A line that is not the server's own JSON, such as half of one, passes without a filter only. */
export function matches(line: string, { minLevel, orgs, from }: LogFilter): boolean {
  const fields = parse(line);
  if (!fields) return minLevel === 0 && orgs === undefined && from === undefined && line !== '';
  if (Number(fields['level']) < minLevel) return false;
  if (from !== undefined && String(fields['time']) < from) return false;
  return (
    orgs === undefined || orgs.some((name) => [fields['org'], fields['orgId'], fields['orgSlug'], fields['organization']].includes(name))
  );
}

/** Time, level, sentence, then the other fields; an error's stack below, indented. */
export function lineFor(line: string): string {
  const fields = parse(line);
  if (!fields) return oneLine(line);
  const { time, level, msg, err, ...rest } = fields;
  const name = names.get(level) ?? oneLine(String(level));
  const shown = Object.hasOwn(colours, name)
    ? styleText(colours[name as keyof typeof colours], name.padEnd(5), { stream: process.stdout })
    : name.padEnd(5);
  const others = Object.entries(rest).map(([key, value]) => `${key}=${typeof value === 'string' ? value : JSON.stringify(value)}`);
  const error = err as { message?: unknown; stack?: unknown } | undefined;
  const head = [oneLine(String(time ?? '')).replace(/\.\d+Z$/, 'Z'), shown, oneLine([String(msg ?? ''), ...others].join('  '))].join(' ');
  const stack = typeof error?.stack === 'string' ? error.stack : error?.message;
  if (stack === undefined) return head;
  return `${head}\n${printable(String(stack)).replaceAll(/^/gm, '    ')}`;
}

const oneLine = (text: string) => printable(text).replaceAll('\n', '\\n');

function parse(line: string): Record<string, unknown> | undefined {
  try {
    const found: unknown = JSON.parse(line);
    return typeof found === 'object' && found !== null && !Array.isArray(found) ? (found as Record<string, unknown>) : undefined;
  } catch {
    return undefined;
  }
}
