import type { ComponentChildren } from 'preact';
import { useCommands } from '../data/commands.ts';
import { Confirm } from './confirm.tsx';

interface ConfirmLossProps {
  /** Its loss is in the table of the command line, which asks with the same words. */
  operation: string;
  /** What people call the thing. */
  name: string;
  action: string;
  onConfirm(): unknown;
  onClose(): void;
  children?: ComponentChildren;
}

/** Asks before an operation that loses something; where it cannot come back, the person types the name. */
export function ConfirmLoss({ operation, name, action, onConfirm, onClose, children }: ConfirmLossProps) {
  const table = useCommands();
  const loss = table?.losses[operation];
  if (!table) return null;
  return (
    <Confirm title={`${action} ${name}?`} name={loss?.forGood ? name : undefined} action={action} onConfirm={onConfirm} onClose={onClose}>
      {loss && (
        <p>
          You lose {loss.loses}.{loss.forGood ? ' It cannot come back.' : ''}
        </p>
      )}
      {children}
    </Confirm>
  );
}
