import type { ComponentChildren } from 'preact';
import { useId, useState } from 'preact/hooks';

interface ButtonProps {
  children: ComponentChildren;
  /** May take its time: the button shows that it works, and a second press does nothing. */
  onPress?: (() => unknown) | undefined;
  kind?: 'primary' | 'plain' | 'danger' | 'quiet';
  type?: 'button' | 'submit';
  /** Why it is not allowed: the button stays in reach and says so. */
  why?: string | undefined;
  isBusy?: boolean;
  /** For a button that shows only a sign. */
  label?: string;
  pressed?: boolean;
  expanded?: boolean;
  small?: boolean;
  shortcut?: string;
}

export function Button(props: ButtonProps) {
  const { children, onPress, kind = 'plain', type = 'button', why, label, pressed, expanded, small, shortcut } = props;
  const [works, setWorks] = useState(false);
  const id = useId();
  const isBusy = works || props.isBusy;
  const press = (event: Event) => {
    if (why || isBusy) return event.preventDefault();
    const result = onPress?.();
    if (!(result instanceof Promise)) return;
    setWorks(true);
    result.finally(() => setWorks(false));
  };
  return (
    <>
      <button
        type={type}
        class={`button ${kind}${small ? ' small' : ''}`}
        aria-label={label}
        aria-pressed={pressed}
        aria-expanded={expanded}
        aria-keyshortcuts={shortcut}
        aria-disabled={why ? true : undefined}
        aria-describedby={why ? id : undefined}
        aria-busy={isBusy || undefined}
        title={why ?? label}
        onClick={press}
      >
        {children}
      </button>
      {why && (
        <span id={id} class="hidden">
          {why}
        </span>
      )}
    </>
  );
}
