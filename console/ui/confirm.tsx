import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Button } from './button.tsx';
import { Dialog } from './dialog.tsx';
import { TextField } from './fields.tsx';

interface ConfirmProps {
  title: string;
  /** What will be lost. */
  children: ComponentChildren;
  /** Typed by the person where it cannot come back. */
  name?: string | undefined;
  action: string;
  onConfirm(): unknown;
  onClose(): void;
}

/** Asks before a loss. */
export function Confirm({ title, children, name, action, onConfirm, onClose }: ConfirmProps) {
  const [typed, setTyped] = useState('');
  const why = name !== undefined && typed.trim() !== name ? `Type ${name} first` : undefined;
  return (
    <Dialog title={title} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
        }}
      >
        <div>{children}</div>
        {name !== undefined && <TextField label={`Type ${name} to confirm`} value={typed} onChange={setTyped} isFirst />}
        <p class="buttons">
          <Button kind="danger" type="submit" why={why} onPress={onConfirm}>
            {action}
          </Button>
          <Button onPress={onClose}>Cancel</Button>
        </p>
      </form>
    </Dialog>
  );
}
