import { escaped } from '../../../../kernel/http/html.ts';
import { type Style, styleOf } from './style.ts';

export interface RenderedPage {
  html: string;
  /** The page's Content-Security-Policy. */
  policy: string;
}

export interface Document {
  title: string;
  accent?: string | undefined;
  /** Markup before, inside and after <main>. */
  header: string;
  main: string;
  footer?: string;
  /** Further elements of the head. */
  head?: string;
  /** Whether the page loads an image from our host, beside an embedded one. */
  image?: boolean;
  /** The favicon's colour. */
  mark?: string;
}

const styles = new Map<string, Style>();

/** An HTML page without script or external resources. Its policy names its one style by hash. */
export function documentOf({
  title,
  accent,
  header,
  main,
  footer = '',
  head = '',
  image = false,
  mark = '#57606a',
}: Document): RenderedPage {
  const style = styleFor(accent);
  const icon = `data:image/svg+xml,%3Csvg xmlns='http://www.w3.org/2000/svg' viewBox='0 0 8 8'%3E%3Ccircle cx='4' cy='4' r='4' fill='%23${mark.slice(1)}'/%3E%3C/svg%3E`;
  return {
    policy: `default-src 'none'; style-src ${style.source}; img-src data:${image ? " 'self'" : ''}; form-action 'self'; frame-ancestors 'none'; base-uri 'none'`,
    html: `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escaped(title)}</title><meta name="viewport" content="width=device-width, initial-scale=1"><link rel="icon" href="${icon}">${head}<style>${style.css}</style></head><body>${header}<main>${main}</main>${footer}</body></html>\n`,
  };
}

function styleFor(accent = ''): Style {
  const known = styles.get(accent);
  if (known) return known;
  if (styles.size > 500) styles.clear();
  const made = styleOf(accent || undefined);
  styles.set(accent, made);
  return made;
}

/** A short notice page. `body` is markup. */
export const noticeOf = (title: string, body: string, accent?: string): RenderedPage =>
  documentOf({
    title,
    accent,
    header: `<header><h1>${escaped(title)}</h1></header>`,
    main: body,
    head: '<meta name="robots" content="noindex">',
  });
