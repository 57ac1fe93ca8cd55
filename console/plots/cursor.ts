import { useState } from 'preact/hooks';

/** Where a reader stands in a plot of so many steps: by pointer, or by the keys of a slider. Undefined: nowhere, the newest is told. */
export function useCursor(count: number) {
  const [chosen, setAt] = useState<number>();
  const at = chosen === undefined ? undefined : Math.min(chosen, count - 1);
  const point = (event: PointerEvent) => {
    const { left, width } = (event.currentTarget as Element).getBoundingClientRect();
    if (width > 0) setAt(Math.max(0, Math.min(count - 1, Math.floor(((event.clientX - left) / width) * count))));
  };
  const press = (event: KeyboardEvent) => {
    const from = at ?? count - 1;
    const to = { ArrowLeft: from - 1, ArrowRight: from + 1, PageUp: from - 10, PageDown: from + 10, Home: 0, End: count - 1 }[event.key];
    if (to === undefined) return;
    event.preventDefault();
    setAt(Math.max(0, Math.min(count - 1, to)));
  };
  const leave = () => setAt(undefined);
  return { at, handlers: { onPointerMove: point, onPointerDown: point, onPointerLeave: leave, onKeyDown: press, onBlur: leave } };
}
