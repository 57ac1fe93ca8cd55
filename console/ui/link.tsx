import type { ComponentChildren } from 'preact';
import { inOrganization } from '../data/place.ts';

interface LinkProps {
  /** Below the organization: `/uptime/monitors`. */
  to: string;
  children: ComponentChildren;
  class?: string;
  isCurrent?: boolean;
  onPress?: () => void;
  onReach?: () => void;
}

export const Link = ({ to, children, class: className, isCurrent, onPress, onReach }: LinkProps) => (
  <a
    href={inOrganization(to)}
    class={className}
    aria-current={isCurrent ? 'page' : undefined}
    onClick={onPress}
    onPointerEnter={onReach}
    onFocus={onReach}
  >
    {children}
  </a>
);
