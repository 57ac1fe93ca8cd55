import { bytes, duration, type Format, fieldAt, formatOf, isEmpty, isObject, numberText, titleOf } from '../../sdk/browser.ts';
import type { Column } from '../data/commands.ts';
import { State } from './state.tsx';
import { Age, Moment } from './time.tsx';

export { bytes, duration };

/** A field of an answer, written as the command line writes it. */
export function Cell({ of, column }: { of: unknown; column: Column }) {
  const { key, or, as } = column;
  const first = fieldAt(of, key);
  const value = isEmpty(first) && or ? fieldAt(of, or) : first;
  return <Written value={value} name={key} as={as} />;
}

export function Written({ value, name, as }: { value: unknown; name: string; as?: Format | undefined }) {
  if (isEmpty(value)) return <span class="faint">–</span>;
  const format = as ?? formatOf(name, value);
  if (format === 'state' && (typeof value === 'string' || typeof value === 'boolean'))
    return <State word={typeof value === 'boolean' ? (value ? 'yes' : 'no') : value} />;
  if (format === 'age' && typeof value === 'string') return <Age at={value} />;
  if (format === 'time' && typeof value === 'string') return <Moment at={value} />;
  if (format === 'count') return <>{Array.isArray(value) ? value.length : String(value)}</>;
  if (format === 'id') return <code>{String(value)}</code>;
  if (typeof value === 'boolean') return <>{value ? 'yes' : 'no'}</>;
  if (typeof value === 'number') return <>{numberText(value, name, format)}</>;
  return <>{words(value, name)}</>;
}

function words(value: unknown, name: string): string {
  if (typeof value === 'number') return numberText(value, name, formatOf(name, value));
  if (Array.isArray(value)) return value.map((item) => words(isObject(item) ? titleOf(item) : item, name)).join(', ');
  if (isObject(value))
    return Object.entries(value)
      .filter(([, inner]) => !isEmpty(inner))
      .map(([key, inner]) => `${key}=${words(inner, key)}`)
      .join(' ');
  return String(value);
}
