import { hash } from 'node:crypto';
import { accentOf, cards, grounds } from '../../rules/accent.ts';

// The style of every page. Colours have a contrast of 4.5 or more in both schemes; no meaning depends on colour alone.

const light = `--bg:${grounds.light};--card:${cards.light};--fg:#1f2328;--dim:#57606a;--line:#d1d9e0;--ok:#1a7f37;--warn:#8a5a00;--bad:#cf222e;--plan:#0a5fc4;--none:#d8dee4;--bu:#2da44e;--bs:#d9a400`;
const dark = `--bg:${grounds.dark};--card:${cards.dark};--fg:#e6edf3;--dim:#9aa4af;--line:#30363d;--ok:#3fb950;--warn:#d9a526;--bad:#ff6a61;--plan:#64abff;--none:#30363d;--bu:#2ea043;--bs:#d9a526`;

const rules = `
*{box-sizing:border-box}
html{color-scheme:light dark;-webkit-text-size-adjust:100%}
body{margin:0;background:var(--bg);color:var(--fg);font:1rem/1.55 system-ui,-apple-system,"Segoe UI",Roboto,"Open Sans",sans-serif;border-top:4px solid var(--band)}
header,main,footer{max-width:46rem;margin:0 auto;padding:0 1.25rem}
header{padding-top:2.5rem;padding-bottom:1.5rem}
header img{display:block;max-height:3rem;max-width:16rem;margin-bottom:1rem}
h1{margin:0;font-size:1.75rem;line-height:1.2;letter-spacing:-.01em}
h2{margin:3rem 0 1rem;font-size:1.2rem}
h3{margin:0;font-size:1.05rem;line-height:1.4}
h1,h2,h3,p,li{overflow-wrap:anywhere}
p{margin:.4rem 0}
a{color:var(--accent)}
:focus-visible{outline:3px solid var(--accent);outline-offset:2px;border-radius:3px}
ol,ul{list-style:none;margin:0;padding:0}
time,.dim{color:var(--dim);font-size:.875rem}
.about{color:var(--dim);margin:.4rem 0 0}
.hid{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}
.now{display:flex;gap:.85rem;align-items:center;padding:1.1rem 1.25rem;border-radius:12px;color:#fff;background:var(--g)}
.now p{margin:0;font-size:1.2rem;font-weight:650;line-height:1.35}
.now small{display:block;font-size:.9375rem;font-weight:400}
.now svg{flex:none;width:1.75rem;height:1.75rem;fill:none;stroke:#fff;stroke-width:2.4;stroke-linecap:round;stroke-linejoin:round}
.none{--g:#1a7f37}.minor{--g:#8a5a00}.major,.critical{--g:#c01f2b}.maintenance{--g:#0a5fc4}
.stale time{font-size:inherit;color:inherit}
.stale{margin:0 0 1rem;padding:.75rem 1rem;border:2px solid var(--warn);border-radius:12px}
.card{padding:1.1rem 1.25rem;border:1px solid var(--line);border-radius:12px;background:var(--card);margin:0 0 1rem}
.open{border-left:5px solid var(--warn)}
.plan{border-left:5px solid var(--plan)}
.card>p:first-of-type{margin-top:.15rem}
.card>:last-child{margin-bottom:0}
.log{margin:.9rem 0 0;border-left:2px solid var(--line)}
.log li{position:relative;padding:0 0 .9rem 1.1rem}
.log li:last-child{padding-bottom:0}
.log li:before{content:"";position:absolute;left:-6px;top:.5rem;width:10px;height:10px;border-radius:50%;background:var(--bg);border:2px solid var(--dim)}
.log li:first-child:before{border-color:var(--accent);background:var(--accent)}
.log p{margin:.15rem 0 0;white-space:pre-line}
.log b{margin-right:.5rem}
.svcs{border:1px solid var(--line);border-radius:12px;background:var(--card);margin:0 0 1rem}
.svcs>li{padding:.9rem 1.25rem;border-top:1px solid var(--line)}
.svcs>li:first-child{border-top:0}
.grp{margin:1.25rem 0 .6rem}
.row{display:flex;justify-content:space-between;gap:1rem;align-items:baseline}
.row b{font-weight:600}
.st{flex:none;font-size:.875rem;font-weight:600}
.st:before{content:"";display:inline-block;width:8px;height:8px;margin-right:.45em;border-radius:50%;background:currentColor}
.operational{color:var(--ok)}.incident{color:var(--warn)}.down{color:var(--bad)}.planned{color:var(--plan)}
.bar{display:block;width:100%;height:1.75rem;margin:.5rem 0 .25rem;shape-rendering:crispEdges;-webkit-mask:var(--m);mask:var(--m);--m:repeating-linear-gradient(90deg,#000 0 calc(100%/90 - 2px),#0000 0 calc(100%/90))}
.bar .u{fill:var(--bu)}.bar .s{fill:var(--bs)}.bar .d{fill:var(--bad)}.bar .n{fill:var(--none)}
.scale{display:flex;justify-content:space-between;gap:.5rem;margin:0;color:var(--dim);font-size:.8125rem}
details{margin-top:.1rem;font-size:.875rem}
summary{cursor:pointer;color:var(--dim);padding:.15rem 0}
table{border-collapse:collapse;margin:.4rem 0}
caption{text-align:left;color:var(--dim)}
th,td{text-align:left;padding:.15rem 1.5rem .15rem 0;font-weight:400;font-variant-numeric:tabular-nums}
.past{border-top:1px solid var(--line);padding:1.1rem 0}
.past:first-of-type{border-top:0;padding-top:0}
form{display:flex;flex-wrap:wrap;gap:.6rem;align-items:end;margin:.75rem 0}
label{flex:1 1 15rem;font-size:.875rem;font-weight:600}
input,button{font:inherit;border-radius:8px;padding:.55rem .85rem;min-height:2.75rem}
input{display:block;width:100%;margin-top:.3rem;color:var(--fg);background:var(--bg);border:1px solid var(--dim);font-weight:400}
button{border:0;background:var(--accent);color:var(--bg);font-weight:650;cursor:pointer}
footer{margin-top:3.5rem;padding-top:1.5rem;padding-bottom:3rem;color:var(--dim);font-size:.875rem}
nav ul{display:flex;flex-wrap:wrap;gap:.25rem 1.5rem}
nav a{display:inline-block;padding:.25rem 0}
@media(max-width:36rem){header{padding-top:1.75rem}.bar{--m:repeating-linear-gradient(90deg,#000 0 calc(100%/90 - 1px),#0000 0 calc(100%/90));height:1.6rem}.card,.svcs>li{padding-left:1rem;padding-right:1rem}}
@media print{body{border:0}form,nav,.sub,summary{display:none}details::details-content{content-visibility:visible}.card,.svcs>li,.past{break-inside:avoid}.now,.bar{print-color-adjust:exact;-webkit-print-color-adjust:exact}}
`.replaceAll('\n', '');

const defaultAccent = { light: '#0a5fc4', dark: '#64abff' };

export interface Style {
  css: string;
  /** The style's hash for the policy. */
  source: string;
}

export function styleOf(accent?: string): Style {
  const { light: onLight, dark: onDark } = accent ? accentOf(accent) : defaultAccent;
  const css = `:root{${light};--accent:${onLight};--band:${accent ?? 'var(--accent)'}}@media(prefers-color-scheme:dark){:root{${dark};--accent:${onDark}}}${rules}`;
  return { css, source: `'sha256-${hash('sha256', css, 'base64')}'` };
}
