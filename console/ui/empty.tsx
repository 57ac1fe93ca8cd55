import type { ComponentChildren } from 'preact';
import { Code } from './copy.tsx';

/** Nothing is here yet: the first step, as a button and as a command. */
export const Empty = ({
  title,
  children,
  action,
  command,
}: {
  title: string;
  children?: ComponentChildren;
  action?: ComponentChildren;
  command?: string;
}) => (
  <div class="empty">
    <h2>{title}</h2>
    {children && <p>{children}</p>}
    {action && <p>{action}</p>}
    {command && <Code text={command} label="The command that does it" />}
  </div>
);
