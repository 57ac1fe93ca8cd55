import type { ComponentChildren } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { AsCode, type Line } from './as-code.tsx';
import { Link } from './link.tsx';

interface PageProps {
  title: string;
  /** The way here, outermost first. */
  crumbs?: readonly { to: string; label: string }[];
  /** The main thing to do here. */
  actions?: ComponentChildren;
  /** Beside the title: a state, an age. */
  aside?: ComponentChildren;
  /** The operations behind this screen, shown as command line, curl and SDK call. */
  code?: readonly Line[];
  children: ComponentChildren;
}

/** The frame of every screen: its title takes the focus when the screen changes, so that screen readers say where one is. */
export function Page({ title, crumbs, actions, aside, code, children }: PageProps) {
  const heading = useRef<HTMLHeadingElement>(null);
  useEffect(() => {
    document.title = `${title} · Quarterdeck`;
  }, [title]);
  useEffect(() => {
    if (!document.querySelector('dialog[open]') && document.activeElement?.closest('form') === null)
      heading.current?.focus({ preventScroll: true });
  }, []);
  return (
    <>
      <header class="page">
        {crumbs && (
          <nav aria-label="Where this is" class="crumbs">
            {crumbs.map(({ to, label }) => (
              <Link key={to} to={to}>
                <bdi>{label}</bdi>
              </Link>
            ))}
          </nav>
        )}
        <div class="row">
          <h1 ref={heading} tabIndex={-1}>
            {title}
          </h1>
          {aside && <div class="aside">{aside}</div>}
          <div class="buttons">
            {actions}
            {code && code.length > 0 && <AsCode lines={code} />}
          </div>
        </div>
      </header>
      {children}
    </>
  );
}
