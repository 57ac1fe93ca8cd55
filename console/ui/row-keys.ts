import { useMemo, useRef, useState } from 'preact/hooks';

/** j and k walk through the rows of a table: the focus moves to the row's link, so Enter opens it. For `current` and `isCurrentFocused` of Table, and useScreenKeys. */
export function useRowKeys(rows: readonly string[], noun: string) {
  const [current, setCurrent] = useState<string>();
  const latest = useRef({ rows, current });
  latest.current = { rows, current };
  const keys = useMemo(() => {
    const step = (by: 1 | -1) => {
      const { rows: all, current: last } = latest.current;
      // The person may have walked on by Tab or by pointer.
      const focused = document.activeElement?.closest<HTMLElement>('tr[data-key]')?.dataset['key'];
      const at = all.indexOf(focused ?? last ?? '');
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
