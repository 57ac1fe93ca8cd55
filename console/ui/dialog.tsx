import type { ComponentChildren } from 'preact';
import { useId, useLayoutEffect, useRef } from 'preact/hooks';
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
  // In the frame that draws it: a key pressed right after is meant for it.
  useLayoutEffect(() => {
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
  // A second Escape closes it whatever `cancel` says: the browser lets no page hold a person in a dialog. One that must stay opens again.
  const closed = () => {
    if (!dialog.current) return;
    onClose();
    setTimeout(() => dialog.current?.open === false && dialog.current.showModal());
  };
  return (
    <dialog ref={dialog} class={wide ? 'wide' : undefined} aria-labelledby={id} onCancel={cancel} onClose={closed}>
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
