import { escaped } from '../kernel/http/html.ts';

// The page at /docs: the reference that the library draws, below a bar of ours in which a token is pasted.
//
// The document is part of the page and the policy allows no request, so the token cannot leave. The page is sandboxed without an origin:
// it has no cookies, no storage, and no authority of a session (docs/decisions/0024).

/** Where the page's scripts are served. */
export const scriptPaths = { library: '/docs/js/scalar.js', page: '/docs/js/page.js' } as const;

/** The Content-Security-Policy of the page. No `connect-src`: the page loads its two scripts, and nothing after them. */
export const referencePolicy = [
  'sandbox allow-scripts',
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'unsafe-inline'",
  'img-src data:',
  'font-src data:',
  "form-action 'none'",
  "frame-ancestors 'none'",
  "base-uri 'none'",
].join('; ');

const favicon = `data:image/svg+xml,${encodeURIComponent(
  '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><rect width="16" height="16" rx="3" fill="#0550ae"/><path d="M4 11h8M5 8h6M7 5h2" stroke="#fff" stroke-width="1.6"/></svg>',
)}`;

/** The library's configuration, as its documentation names it. */
const configuration = {
  title: 'Quarterdeck API',
  favicon,
  withDefaultFonts: false,
  telemetry: false,
  proxyUrl: '',
  persistAuth: false,
  hideTestRequestButton: true,
  hideClientButton: true,
  documentDownloadType: 'none', // the bar has the link
  // What the vendor adds: an assistant, sharing, publishing.
  agent: { disabled: true },
  mcp: { disabled: true },
  showDeveloperTools: 'never',
  customCss: 'a[href*="scalar.com"]{display:none!important}',
};

// The library lays itself out below a bar of `--scalar-custom-header-height`, and sets the colours on the body.
const style = [
  ':root{color-scheme:light dark}body{margin:0;font-family:system-ui,sans-serif;background:var(--scalar-background-1);color:var(--scalar-color-1)}',
  '.light-mode{color-scheme:light}.dark-mode{color-scheme:dark}',
  '#bar,body>p[role=note]{display:flex;flex-wrap:wrap;align-items:center;gap:.25rem 1rem;box-sizing:border-box;margin:0;padding:.5rem 1.5rem;font-size:.875rem;line-height:1.4;border-bottom:1px solid var(--scalar-border-color,#8884);background:var(--scalar-background-1,Canvas);color:var(--scalar-color-1,CanvasText)}',
  '#bar a,body>p[role=note] a{color:inherit;text-decoration:underline;padding:.5rem 0}#bar a.home{font-weight:700;text-decoration:none}',
  '#bar label{display:flex;align-items:center;gap:.5rem;flex:1 1 16rem;max-width:30rem}',
  '#bar input{font:inherit;flex:1;min-width:0;min-height:2.5rem;box-sizing:border-box;padding:0 .6rem;border:1px solid #8a8a8a;border-radius:.3rem;background:transparent;color:inherit}',
  '#bar input:focus-visible,#bar a:focus-visible{outline:2px solid currentColor;outline-offset:1px}#bar output{flex:1 1 14rem;color:var(--scalar-color-2,inherit)}',
  '@media(min-width:1000px){:root{--scalar-custom-header-height:58px}#bar{position:sticky;top:0;z-index:10;height:58px;flex-wrap:nowrap}}',
].join('');

const fills = 'Fills the examples. It stays in the memory of this page, and is sent nowhere.';

/** JSON inside a script element: no `<` that could end it. */
const asData = (value: unknown) => JSON.stringify(value).replaceAll('<', '\\u003c');

export const referencePage = (document: unknown): string =>
  `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Quarterdeck API</title><meta name="viewport" content="width=device-width, initial-scale=1"><meta name="robots" content="noindex"><link rel="icon" href="${escaped(favicon)}"><style>${style}</style></head><body>
<header id="bar"><a class="home" href="/">Quarterdeck</a><a href="/api/v1/openapi.json">OpenAPI</a><label>Token <input id="token" type="password" autocomplete="off" autocapitalize="off" spellcheck="false" placeholder="qd_pat_…" aria-describedby="said"></label><output id="said" for="token">${fills}</output></header>
<div id="app"></div><noscript><p>This page needs JavaScript. The same is at <a href="/api/v1/openapi.json">/api/v1/openapi.json</a>.</p></noscript>
<script type="application/json" id="reference">${asData({ document, configuration, fills })}</script>
<script src="${scriptPaths.page}"></script><script src="${scriptPaths.library}"></script></body></html>`;

/**
 * Runs before the library. A page without an origin has no storage, and the library asks for it: it gets one in memory. A token goes to
 * the scheme that its prefix names, so an operation never shows a token that it would refuse.
 */
export const pageScript = `'use strict';
{
  const kept = new Map();
  const storage = {
    getItem: (key) => kept.get(String(key)) ?? null,
    setItem: (key, value) => void kept.set(String(key), String(value)),
    removeItem: (key) => void kept.delete(String(key)),
    clear: () => kept.clear(),
    key: (at) => [...kept.keys()][at] ?? null,
    get length() { return kept.size; },
  };
  for (const name of ['localStorage', 'sessionStorage']) Object.defineProperty(window, name, { value: storage });

  // Nor has it the clipboard of newer browsers, which pages by plain HTTP lack too. The older command works in both.
  const writeText = async (text) => {
    const area = document.createElement('textarea');
    area.value = text;
    area.style.cssText = 'position:fixed;opacity:0';
    document.body.append(area);
    area.select();
    const isCopied = document.execCommand('copy');
    area.remove();
    if (!isCopied) throw new Error('the browser refused to copy');
  };
  Object.defineProperty(navigator, 'clipboard', { value: { writeText } });

  const { document: content, configuration, fills } = JSON.parse(document.getElementById('reference').textContent);
  const schemes = Object.keys(content.components.securitySchemes);
  const kindOf = (scheme) => (scheme === 'token' ? 'pat' : scheme);
  const field = document.getElementById('token');
  const said = document.getElementById('said');

  const configured = (token, chosen) => ({
    ...configuration,
    content,
    servers: [{ url: location.origin }],
    authentication: { securitySchemes: Object.fromEntries(schemes.map((scheme) => [scheme, { token: scheme === chosen ? token : '' }])) },
  });

  addEventListener('DOMContentLoaded', () => {
    field.value = ''; // a browser may bring back what was typed before a reload
    const reference = Scalar.createApiReference('#app', configured('', undefined));
    field.addEventListener('input', () => {
      const token = field.value.trim();
      const chosen = schemes.find((scheme) => token.startsWith('qd_' + kindOf(scheme) + '_'));
      said.textContent = chosen || !token ? fills : 'A token begins with ' + schemes.map((scheme) => 'qd_' + kindOf(scheme) + '_').join(', ') + '.';
      reference.updateConfiguration(configured(token, chosen));
    });
  });
}
`;
