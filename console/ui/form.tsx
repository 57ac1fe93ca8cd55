import type { ComponentChildren } from 'preact';
import { useState } from 'preact/hooks';
import { Cancelled } from '../data/act.ts';
import { sentenceOf } from '../data/api.ts';
import { Button } from './button.tsx';

interface FormProps {
  /** Throws the refusal, which is shown above the button; what was typed stays. */
  onSubmit(): Promise<unknown>;
  action: string;
  why?: string | undefined;
  kind?: 'primary' | 'danger';
  onCancel?: () => void;
  children: ComponentChildren;
}

export function Form({ onSubmit, action, why, kind = 'primary', onCancel, children }: FormProps) {
  const [refusal, setRefusal] = useState('');
  const [isBusy, setBusy] = useState(false);
  const submit = async (event: Event) => {
    event.preventDefault();
    if (why || isBusy) return;
    setBusy(true);
    setRefusal('');
    try {
      await onSubmit();
    } catch (error) {
      if (!(error instanceof Cancelled)) setRefusal(sentenceOf(error));
    } finally {
      setBusy(false);
    }
  };
  return (
    <form class="form" onSubmit={submit} noValidate>
      {children}
      <div role="alert">{refusal && <p class="note bad">{refusal}</p>}</div>
      <p class="buttons">
        <Button type="submit" kind={kind} why={why} isBusy={isBusy}>
          {action}
        </Button>
        {onCancel && <Button onPress={onCancel}>Cancel</Button>}
      </p>
    </form>
  );
}
