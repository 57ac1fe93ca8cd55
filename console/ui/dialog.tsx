import type { ComponentChildren } from 'preact';
import { useEffect, useId, useRef } from 'preact/hooks';
import { Button } from './button.tsx';

interface DialogProps {
  title: string;
  children: ComponentChildren;
  onClose(): void;
  wide?: boolean;
}

/** A modal dialog of the browser: it keeps the focus, closes by Escape, and gives the focus back. */
export function Dialog({ title, children, onClose, wide }: DialogProps) {
  const dialog = useRef<HTMLDialogElement>(null);
  const id = useId();
  useEffect(() => {
    const element = dialog.current!;
    const before = document.activeElement;
    element.showModal();
    return () => {
      element.close();
      if (before instanceof HTMLElement && before.isConnected) before.focus();
    };
  }, []);
  const cancel = (event: Event) => {
    event.preventDefault();
    onClose();
  };
  return (
    <dialog ref={dialog} class={wide ? 'wide' : undefined} aria-labelledby={id} onCancel={cancel}>
      <div class="row">
        <h2 id={id}>{title}</h2>
        <Button kind="quiet" small label="Close" onPress={onClose}>
          ×
        </Button>
      </div>
      {children}
    </dialog>
  );
}
