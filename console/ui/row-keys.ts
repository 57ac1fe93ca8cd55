import { useEffect, useMemo, useRef, useState } from 'preact/hooks';

/**
 * j and k walk through the rows of a table: the focus moves to the row's link, so Enter opens it. For `current` and `isCurrentFocused` of Table,
 * and useScreenKeys. `start`: the row that they walk on from at first.
 */
export function useRowKeys(rows: readonly string[], noun: string, start?: string) {
  const [current, setCurrent] = useState<string>();
  const latest = useRef({ rows, current: current ?? start });
  latest.current = { rows, current: current ?? start };
  // The row that holds the focus is the one that keys act on, however the person came there.
  useEffect(() => {
    const follow = ({ target }: FocusEvent) => {
      const key = rowOf(target as Element);
      if (key !== undefined && latest.current.rows.includes(key)) setCurrent(key);
    };
    document.addEventListener('focusin', follow);
    return () => document.removeEventListener('focusin', follow);
  }, []);
  const keys = useMemo(() => {
    const step = (by: 1 | -1) => {
      const { rows: all, current: last } = latest.current;
      const at = all.indexOf(last ?? '');
      const next = at < 0 ? (by > 0 ? 0 : all.length - 1) : Math.max(0, Math.min(all.length - 1, at + by));
      setCurrent(all[next]);
      // The table moves the focus when another row becomes current; to this one it came back.
      if (all[next] === last) document.querySelector<HTMLElement>(`tr[data-key="${CSS.escape(last!)}"] a`)?.focus();
    };
    return [
      { keys: 'j', what: `Next ${noun}`, act: () => step(1) },
      { keys: 'k', what: `Previous ${noun}`, act: () => step(-1) },
    ];
  }, [noun]);
  return { current, keys };
}

const rowOf = (element: Element): string | undefined => element.closest<HTMLElement>('tr[data-key]')?.dataset['key'];
