import type { Bundle } from '../rules/bundle.ts';

/**
 * The console makes no markup out of text (Trusted Types), loads from this server alone, and stands in no frame. Tenants' words are on these
 * pages: they must not become script.
 */
export const policy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "form-action 'self'",
  "base-uri 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types 'none'",
].join('; ');

/** One document for every screen: the script shows the one of the address. */
export const documentOf = ({ script, style, preloads }: Pick<Bundle, 'script' | 'style' | 'preloads'>): string =>
  [
    '<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Quarterdeck</title>',
    '<meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex">',
    '<meta name="color-scheme" content="light dark"><link rel="icon" href="data:,">',
    `<link rel="stylesheet" href="/assets/${style}">`,
    ...preloads.map((name) => `<link rel="modulepreload" href="/assets/${name}">`),
    `<script type="module" src="/assets/${script}"></script></head><body><div id="console"></div>`,
    '<noscript><p>The console needs JavaScript. <a href="/account">Your account</a> and the command line work without it.</p></noscript>',
    '</body></html>',
  ].join('');
